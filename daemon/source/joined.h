// Several data sets as one listing, one after the other, for pipelines with several sources.
//
//   ids       follow the ids of the parts before
//   names     "part/name"
//   fields    of the same name and kind in all parts; and `source`, the number of the sample's part
//   classes   of all parts, united by name, numbered in order of their bytes as in one image folder
//   locate    done by the part
//
// Constant; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"

namespace spdld::source {

struct NamedListing {
  std::string name;
  std::unique_ptr<Listing> listing;
};

// Two or more. Throws SetupError where they have more samples than 2^62 together.
std::unique_ptr<Listing> join_listings(std::vector<NamedListing> parts);

// Lists all sources of `specs`: one source as open_listing does, several sources joined. Errors name the source.
// Progress is told for the source being listed; `use` is the sum over all sources. `wanted`: the fields that will be
// asked for; where a field has alternatives, each source has it as alternatives.h says. `cutter` (may be empty) is
// given each source's listing, whose samples are records, and returns a listing of rows that takes its place.
using Cutter = std::function<std::unique_ptr<Listing>(const config::SourceSpec&, std::unique_ptr<Listing>)>;
std::unique_ptr<Listing> open_listings(std::span<const config::SourceSpec> specs, const Progress& progress,
                                       const std::stop_token& stop, const std::filesystem::path& kept = {},
                                       KeptUse* use = nullptr, std::span<const std::string> wanted = {},
                                       const Places& places = {}, const Cutter& cutter = {});

// Why `listing` has no field of this name: "source 'web' has none (it has jpg, cls, path)". Empty where it has no
// parts.
std::string why_no_field(const Listing& listing, std::string_view name);

}  // namespace spdld::source
