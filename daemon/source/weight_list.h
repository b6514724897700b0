// Weights of samples that a user wrote: a text file with a line a sample, of columns with a TAB between them, or else a
// comma (then as RFC 4180 has them: a column in quotes may hold commas, and "" is a quote; but no line breaks). The
// first column is the sample's name or id, as in sample_list.h; a name that several samples have means all of them.
// Without a column's name a line has two columns, and the second is the weight; else the first line names the columns.
// Blank lines say nothing.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

// A weight is 0 or between these: so far apart they lose nothing in what is done with them.
inline constexpr double kSampleWeightMin = 1e-200, kSampleWeightMax = 1e200;

// Stands for the weight of a sample that no line names.
inline constexpr double kNoWeight = -1;

// By id, for the whole listing: 8 bytes a sample. `key` ("order.weights") stands in messages; the file's state is added
// to `stamps`. Throws SetupError: the file can't be read or is too large, has no such column, a line has not the
// columns that it should have, a weight is none, or a line names what is not listed or has a weight already.
std::vector<double> read_sample_weights(const std::string& path, std::string_view column, std::string_view key,
                                        const Listing& listing, Stamps& stamps, const std::stop_token& stop);

}  // namespace spdld::source
