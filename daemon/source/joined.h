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

// Why `listing` has no field of this name: "source 'web' has none (it has jpg, cls, path)". Empty where it has no
// parts.
std::string why_no_field(const Listing& listing, std::string_view name);

}  // namespace spdld::source
