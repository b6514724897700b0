// Lists the sources that a spec names: which listing is made for each, and one of all. Any thread; the thread that
// calls is told of the progress.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/source/listing.h"

namespace spdld::source {

// Lists `spec`, whose type is one of config/sources.inc. Symlinks are followed. Throws SetupError with a sentence
// for a missing or empty folder, a folder without a picture, or an archive that is no tar; and for a listing that
// misses something (Listing::missing), unless `spec.on_missing` says to go on with the rest: a tar cut in the middle
// then gives the samples before the cut. `stop` ends it early with Trouble::kStopping. image-folder reads the parameter
// `extensions` (text, "jpg,jpeg" if absent): comma-separated, in any case. `spec.classes` says the classes of an
// image-folder, of a voc, or of a manifest with a column of classes. webdataset's uris are archives and folders of
// archives, with braces and wildcards (archive_search.h). So are the uris of tables, whose fields and parameters
// config/source_types.cpp describes.
//
// `kept`: a folder (made where it is missing) in which listings outlive the daemon; empty: none. Folders and archives
// that are unchanged, by size, inode and times, are taken from there, and only the others are read; the listing is the
// same as without `kept`. The folder may be shared by daemons of one user; damage to it costs time alone. Trouble with
// the folder does not stop a listing: `use` tells it.
//
// `wanted`: the fields that will be asked for, as open_listings() has them. Other fields may be asked for
// too.
//
// `places.bounds`: a data set is refused (kDenied) if it has a link to a folder, a picture or an archive outside of
// them, and, where the bounds say so, if it has a folder that the daemon may not read. A file that leads outside later
// is bad content when it is fetched.
std::unique_ptr<Listing> open_listing(const config::SourceSpec& spec, const Progress& progress, std::stop_token stop,
                                      const std::filesystem::path& kept = {}, KeptUse* use = nullptr,
                                      const Places& places = {}, std::span<const std::string> wanted = {});

// Lists all sources of `specs`: one source as open_listing() does, several sources joined (joined.h). Errors name the
// source. Progress is told for the source being listed; `use` is the sum over all sources. `wanted`: the fields that
// will be asked for; where a field has alternatives, each source has it as alternatives.h says. `cutter` (may be empty)
// is given each source's listing, whose samples are records, and returns a listing of rows that takes its place.
using Cutter = std::function<std::unique_ptr<Listing>(const config::SourceSpec&, std::unique_ptr<Listing>)>;
std::unique_ptr<Listing> open_listings(std::span<const config::SourceSpec> specs, const Progress& progress,
                                       const std::stop_token& stop, const std::filesystem::path& kept = {},
                                       KeptUse* use = nullptr, std::span<const std::string> wanted = {},
                                       const Places& places = {}, const Cutter& cutter = {});

}  // namespace spdld::source
