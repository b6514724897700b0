// The kinds of listing, for open_listing alone. listing.h explains `bounds` (nullptr: none), threads and errors.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/listing.h"

namespace spdld::source {

// `root`: a folder; `extensions`: the parameter's text, "jpg,jpeg".
std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop,
                                           const std::filesystem::path& kept, KeptUse& use, const Bounds* bounds);

// `uris`: paths as archive_search.h takes them.
std::unique_ptr<Listing> open_webdataset(const std::vector<std::string>& uris, const Progress& progress,
                                         const std::stop_token& stop, const std::filesystem::path& kept, KeptUse& use,
                                         const Bounds* bounds);

}  // namespace spdld::source
