// Two folders of a data set whose files belong together by their names: pictures and their masks, or their labels.
// Values; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/source/annotations/file_tree.h"

namespace spdld::source {

struct MatchedFolder {
  std::string folder;          // from the root on
  std::string_view parameter;  // which names it
  std::string extensions;      // as image-folder's
  bool may_be_empty = false;   // as TreeChoice's
  std::string suffix = {};     // stands in the files' names before their endings; other files are passed over
};

struct MatchedFiles {
  FileTree pictures, partners;       // the remarks are below
  std::vector<uint32_t> partner_of;  // by picture; kNoPartner: it has none
  Remarks remarks = {};
  std::function<bool()> is_unchanged = {};
};
inline constexpr uint32_t kNoPartner = UINT32_MAX;

struct MatchedFolders {
  MatchedFolder pictures, partners;
};
// A picture's partner has the same path from its folder on, but for the suffixes and the endings. Throws SetupError as
// read_tree().
MatchedFiles match_files(const DataRoot& root, const MatchedFolders& folders, const SourceOpening& opening);

}  // namespace spdld::source
