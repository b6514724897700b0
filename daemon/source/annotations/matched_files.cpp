#include "daemon/source/annotations/matched_files.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/base/result.h"

namespace spdld::source {
namespace {

FileTree read_folder_of(const DataRoot& root, const MatchedFolder& folder, const SourceOpening& opening) {
  const Endings endings(folder.extensions);
  return read_tree(root, {folder.folder, folder.parameter, endings, folder.may_be_empty}, opening);
}

// The part of a path that its partner shares; none: the suffix does not stand there.
std::optional<std::string> stem_in(const MatchedFolder& folder, std::string_view path) {
  path.remove_prefix(folder.folder.size() + 1);
  path = path.substr(0, path.rfind('.'));
  if (!path.ends_with(folder.suffix)) return std::nullopt;
  return std::string(path.substr(0, path.size() - folder.suffix.size()));
}

// Leaves out files without the suffix.
void keep_suffixed(FileTree& tree, const MatchedFolder& folder) {
  if (folder.suffix.empty()) return;
  FileTree kept;
  for (uint64_t i = 0; i < tree.paths.size(); ++i) {
    if (!stem_in(folder, tree.paths[i])) continue;
    kept.paths.add(tree.paths[i]);
    if (!tree.identities.empty()) kept.identities.push_back(tree.identities[i]);
  }
  tree.paths = std::move(kept.paths);
  tree.identities = std::move(kept.identities);
}

// Whether one of the folders is the other one, or holds it.
bool lie_together(const std::string& a, const std::string& b) {
  const auto holds = [](const std::string& outer, const std::string& inner) {
    return (inner + '/').starts_with(outer + '/');
  };
  return a.empty() || b.empty() || holds(a, b) || holds(b, a);
}

}  // namespace

MatchedFiles match_files(const DataRoot& root, const MatchedFolders& folders, const SourceOpening& opening) {
  MatchedFiles matched{
      read_folder_of(root, folders.pictures, opening), read_folder_of(root, folders.partners, opening), {}};
  keep_suffixed(matched.pictures, folders.pictures);
  keep_suffixed(matched.partners, folders.partners);
  for (FileTree* tree : {&matched.pictures, &matched.partners}) matched.remarks.add_all(tree->remarks);
  // Where the partners lie among the pictures, a file of another format may be one of them.
  if (matched.pictures.others.count > 0 && !lie_together(folders.pictures.folder, folders.partners.folder))
    matched.remarks.add(others_left_out(matched.pictures.others, Endings(folders.pictures.extensions)));
  std::unordered_map<std::string, uint32_t> numbers;
  for (uint64_t i = 0; i < matched.partners.paths.size(); ++i) {
    const std::string_view path = matched.partners.paths[i];
    if (!numbers.emplace(*stem_in(folders.partners, path), static_cast<uint32_t>(i)).second)
      matched.remarks.add_missing("the file " + std::string(path) +
                                  " belongs to the same picture as another one, and was passed over.");
  }
  for (uint64_t i = 0; i < matched.pictures.paths.size(); ++i) {
    const auto found = numbers.find(*stem_in(folders.pictures, matched.pictures.paths[i]));
    matched.partner_of.push_back(found == numbers.end() ? kNoPartner : found->second);
  }
  matched.is_unchanged = [pictures = std::move(matched.pictures.is_unchanged),
                          partners = std::move(matched.partners.is_unchanged)] { return pictures() && partners(); };
  return matched;
}

}  // namespace spdld::source
