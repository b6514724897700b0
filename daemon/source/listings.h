// The kinds of listing, for open_listing alone. Threads and errors as listing.h says.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "daemon/source/listing.h"

namespace spdld::source {

// `root`: a folder; `extensions`: as of the parameter, "jpg,jpeg".
std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop,
                                           const std::filesystem::path& kept, KeptUse& use);

// `path`: an archive, a folder of archives, or a path with a range.
std::unique_ptr<Listing> open_webdataset(const std::string& path, const Progress& progress, const std::stop_token& stop,
                                         const std::filesystem::path& kept, KeptUse& use);

}  // namespace spdld::source
