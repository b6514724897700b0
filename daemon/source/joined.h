// Several data sets as one listing, one behind the other: for pipelines with several sources.
//
//   ids       those of a part, from the number on that the parts before have together
//   names     "part/name"
//   fields    those that all parts have by the same name and kind, and `source`: the number of the sample's part
//   classes   of all parts, united by name and numbered in order of their bytes, as one image folder's would be
//   locate    as the part does
//
// Constant; any thread.
#pragma once

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

// Lists all that `specs` say: one as open_listing does, several of them joined. Errors name the source. Progress is
// that of the source being listed; `use` is the sum. `wanted`: the fields that will be asked for; where one has
// alternatives, each source has it as alternatives.h says.
std::unique_ptr<Listing> open_listings(std::span<const config::SourceSpec> specs, const Progress& progress,
                                       const std::stop_token& stop, const std::filesystem::path& kept = {},
                                       KeptUse* use = nullptr, std::span<const std::string> wanted = {},
                                       const std::shared_ptr<const Bounds>& bounds = nullptr);

// Why `listing` has no field of this name: "source 'web' has none (it has jpg, cls, path)". Empty where it has no
// parts.
std::string why_no_field(const Listing& listing, std::string_view name);

}  // namespace spdld::source
