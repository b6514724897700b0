// Finds the files in remote stores that a source's uris stand for: the archives of a webdataset, the files of a table.
// Each uri's braces are expanded (config/uri_pattern.h), and each uri after that is one of these, looked for in this
// order:
//
//   a uri with wildcards    the objects that fit it, sorted: the store is asked for a list
//   an object's name        that file
//   the name of a folder    the files right below it (FileKind::endings), sorted by name: the store is asked for a list
//
// Where a kind has one file in a folder (index.json), no list is needed. A web server has no lists, so its other files
// are named one by one, or with braces.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/files/data_files.h"
#include "daemon/store/stores.h"

namespace spdld::source {

// One thread. Throws SetupError: nothing fits a uri, a file is missing or comes twice, there are more than
// config::kUriPathsMax, or the pipeline may not read there.
std::vector<DataFile> find_remote_archives(const std::vector<std::string>& uris, const store::Stores& stores,
                                           const std::stop_token& stop, const FileKind& kind = {});
// The objects that have these uris as their names, whatever signs are in them; as name_data_files() for files.
std::vector<DataFile> name_remote_files(const std::vector<std::string>& uris, const store::Stores& stores,
                                        const std::stop_token& stop, const FileKind& kind);

}  // namespace spdld::source
