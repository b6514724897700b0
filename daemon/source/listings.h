// The kinds of listing, for open_listing alone, which says what `bounds` are (nullptr: none). Threads and errors as listing.h says.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/listing.h"

namespace spdld::source {

// `root`: a folder; `extensions`: as of the parameter, "jpg,jpeg".
std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop,
                                           const std::filesystem::path& kept, KeptUse& use, const Bounds* bounds);

// `uris`: paths as archive_search.h takes them.
std::unique_ptr<Listing> open_webdataset(const std::vector<std::string>& uris, const Progress& progress,
                                         const std::stop_token& stop, const std::filesystem::path& kept, KeptUse& use,
                                         const Bounds* bounds);

}  // namespace spdld::source
