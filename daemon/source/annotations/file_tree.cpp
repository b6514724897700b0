#include "daemon/source/annotations/file_tree.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "config/text/remote_uri.h"
#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/folders/class_walk.h"
#include "daemon/source/folders/remote_folder.h"
#include "daemon/source/stamps.h"

namespace spdld::source {
namespace {

// Takes the files' names and identities. `dropped`: so many bytes of each path are no part of it.
void add_files(FileTree& tree, const ClassFiles& files, size_t dropped = 0) {
  for (const ClassFiles::Folder& folder : files.folders) {
    std::string path = folder.path.empty() ? "" : folder.path + '/';
    path.erase(0, dropped);
    const size_t start = path.size();
    for_each_name(folder.pictures, [&](std::string_view name) {
      path.resize(start);
      tree.paths.add(path.append(name));
    });
    tree.identities.insert(tree.identities.end(), folder.identities.begin(), folder.identities.end());
  }
  tree.remarks.add_all(files.remarks);
}

FileTree read_local(const DataRoot& root, const TreeChoice& choice, const SourceOpening& opening) {
  const Bounds* const bounds = opening.places.bounds.get();
  const std::string path = root.name_of(choice.folder);
  const OpenFolder above = open_folder(root.folder, bounds), open = open_folder(path, bounds);
  for (const OpenFolder* one : {&above, &open}) {
    const std::string& folder = one == &open ? path : root.folder;
    if (one->error_number == ENOENT) throw SetupError(Trouble::kNotFound, "the folder " + folder + " does not exist.");
    if (one->error_number != 0) refuse_folder(folder, one->error_number);
  }
  const std::string key = "files 2\n" + choice.endings.joined() + '\n' + path;
  KeptUse use;
  Walked walked = walk_folders({choice.folder}, {root.folder, folder_id(above.status), choice.endings, key,
                                                 opening.progress, opening.stop, opening.kept, use, bounds});
  if (walked.found == 0)
    throw SetupError(Trouble::kUsage, "the folder " + path + " holds no file ending in " + choice.endings.joined() +
                                          ": does `" + std::string(choice.what) + "` name the right folder?");
  opening.use.add(use);
  FileTree tree;
  ClassFiles& files = walked.files.front();
  add_files(tree, files);
  tree.others = std::move(walked.others);
  tree.is_unchanged = [stamps = std::move(files.stamps), folder = root.folder, is_whole = !files.has_unread] {
    return is_whole && stamps.unchanged(folder);
  };
  return tree;
}

// The root as a folder of the folder above it, which is how a store lists one folder.
std::pair<std::string, std::string> split_root(const DataRoot& root) {
  const std::string_view whole = std::string_view(root.folder).substr(0, root.folder.size() - 1);
  if (root.folder.size() < 2)
    throw SetupError(Trouble::kUsage, root.uri + " is a whole bucket: name a folder in it as source.uri.");
  const size_t slash = whole.rfind('/');
  const size_t start = slash == std::string_view::npos ? 0 : slash + 1;
  return {std::string(whole.substr(0, start)), std::string(whole.substr(start))};
}

FileTree read_remote(const DataRoot& root, const TreeChoice& choice, const SourceOpening& opening) {
  const bool is_root = choice.folder.empty();
  const auto [above, name] = is_root ? split_root(root) : std::pair(root.folder, choice.folder);
  const auto folder =
      std::make_shared<const RemoteFolder>(root.store, above, choice.endings, RemoteChoice{name, choice.may_be_empty});
  const std::filesystem::path kept = opening.spec.samples_listing ? opening.kept : std::filesystem::path();
  KeptUse use;
  RemoteListing listed =
      list_remote("remote-files\n" + root.name_of(choice.folder), folder, {opening.progress, opening.stop, kept, use});
  opening.use.add(use);
  FileTree tree;
  const size_t dropped = is_root ? name.size() + 1 : 0;
  for (const ClassFiles& files : listed.files) add_files(tree, files, dropped);
  tree.others = std::move(listed.others);
  tree.others.first.erase(0, dropped);
  tree.is_unchanged = std::move(listed.is_unchanged);
  return tree;
}

}  // namespace

std::string DataRoot::name_of(std::string_view path) const {
  return store ? uri + config::written_in_uri(uri, path) : std::string(folder).append(path);
}

DataRoot data_root(const SourceOpening& opening) {
  if (opening.uris.size() > 1)
    throw SetupError(Trouble::kUsage,
                     "source.uri names several folders: write each as a table of [[sources]], for this type has one.");
  std::string uri = opening.uris.front();
  if (!uri.ends_with('/')) uri += '/';
  if (!config::is_remote(uri)) return {uri};
  store::Stores::Found found = opening.places.stores->find(uri);
  return {std::string(found.object), std::move(found.store), std::move(uri)};
}

std::string path_fault(std::string_view path) {
  std::string_view rest = path;
  do {
    const std::string_view step = rest.substr(0, rest.find('/'));
    if (step.empty() || step == "." || step == "..")
      return "must be a path below the uri, without empty steps, \".\" or \"..\": it is \"" + config::printable(path) +
             '"';
    rest.remove_prefix(std::min(rest.size(), step.size() + 1));
  } while (!rest.empty());
  return path.ends_with('/') ? "must not end in \"/\"" : "";
}

FileTree read_tree(const DataRoot& root, const TreeChoice& choice, const SourceOpening& opening) {
  if (const std::string fault = path_fault(choice.folder); !choice.folder.empty() && !fault.empty())
    throw SetupError(Trouble::kUsage, "source." + std::string(choice.what) + ' ' + fault + '.');
  return root.store ? read_remote(root, choice, opening) : read_local(root, choice, opening);
}

}  // namespace spdld::source
