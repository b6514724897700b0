// The folders of an image folder in a kept listing: one record for each folder, with its path, its state and the names
// in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/source/files/folder.h"
#include "daemon/source/kept/kept_file.h"

namespace spdld::source {

struct KeptFolder {
  KeptState state;
  std::string_view folders, links, pictures, others;  // as in FolderNames
  std::string_view record;                            // the whole record, as it is written
};

// Constant after construction: any thread reads it. Borrows the payload.
class KeptFolders {
 public:
  // Bytes that are no record end the records; the records before them are used.
  explicit KeptFolders(std::string_view payload);

  // nullptr: there is no record of this folder.
  const KeptFolder* find(std::string_view path) const;
  size_t size() const { return folders_.size(); }
  uint64_t pictures() const { return pictures_; }  // in all folders

  // Appends the record of a folder that was read.
  static void append(std::string& records, std::string_view path, const KeptState& state, const FolderNames& names);

 private:
  std::unordered_map<std::string_view, KeptFolder> folders_;  // by path
  uint64_t pictures_ = 0;
};

}  // namespace spdld::source
