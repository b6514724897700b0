#include "daemon/source/folders/kept_folders.h"

#include <algorithm>

namespace spdld::source {
namespace {

// Whether it is names, each ended by NUL.
bool are_names(std::string_view names) {
  return names.empty() || (names.back() == '\0' && names.front() != '\0' &&
                           names.find(std::string_view("\0\0", 2)) == std::string_view::npos);
}

}  // namespace

KeptFolders::KeptFolders(std::string_view payload) {
  KeptReader reader(payload);
  while (!reader.rest().empty()) {
    const std::string_view start = reader.rest();
    const std::string_view path = reader.text();
    KeptFolder folder;
    folder.state = KeptState::read(reader);
    folder.folders = reader.text();
    folder.links = reader.text();
    folder.pictures = reader.text();
    folder.others = reader.text();
    if (!reader.ok() || !are_names(folder.folders) || !are_names(folder.links) || !are_names(folder.pictures)) return;
    folder.record = start.substr(0, start.size() - reader.rest().size());
    pictures_ += static_cast<uint64_t>(std::count(folder.pictures.begin(), folder.pictures.end(), '\0'));
    folders_.insert_or_assign(path, folder);
  }
}

const KeptFolder* KeptFolders::find(std::string_view path) const {
  const auto found = folders_.find(path);
  return found == folders_.end() ? nullptr : &found->second;
}

void KeptFolders::append(std::string& records, std::string_view path, const KeptState& state,
                         const FolderNames& names) {
  KeptWriter writer;
  writer.text(path);
  state.write(writer);
  writer.text(names.folders);
  writer.text(names.links);
  writer.text(names.pictures);
  writer.text(names.others.text());
  records += writer.bytes();
}

}  // namespace spdld::source
