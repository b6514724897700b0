// Weights of samples that a user wrote: a text file with one line for each sample. A TAB separates the columns, or else
// a comma (then as in RFC 4180: a column in quotes may hold commas, and "" is a quote; but no line breaks). The first
// column is the sample's name or id, as in sample_list.h; a name that several samples have means all of them. Without a
// column's name a line has two columns, and the second is the weight; else the first line names the columns. Blank
// lines mean nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

// A weight is 0 or between these bounds: within them the arithmetic on weights loses nothing.
inline constexpr double kSampleWeightMin = 1e-200, kSampleWeightMax = 1e200;

inline constexpr std::string_view kSampleWeightRule = "0 or a number from 1e-200 to 1e200";
constexpr bool is_sample_weight(double weight) {
  return weight == 0 || (weight >= kSampleWeightMin && weight <= kSampleWeightMax);
}
// The weight that a text is, blanks around it left out; none: it is no weight.
std::optional<double> sample_weight_in(std::string_view text);

// The weights by id, for the whole listing: 8 bytes a sample. `key` ("order.weights") stands in messages; the file's
// state is added to `stamps`. Throws SetupError: the file can't be read or is too large, has no such column, a line has
// a wrong number of columns, a weight is no valid weight, or a line names a sample that is not listed or has a weight
// already.
std::vector<double> read_sample_weights(const std::string& path, std::string_view column, std::string_view key,
                                        const Listing& listing, Stamps& stamps, const std::stop_token& stop);

}  // namespace spdld::source
