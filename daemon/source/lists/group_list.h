// Groups of samples that a user wrote: a text file with one line for each sample, which is the sample's name or id, as
// in sample_list.h, a TAB or comma, and the name of its group. The last TAB of a line counts, or the last comma where
// it has no TAB. Blank lines mean nothing. A name that several samples have means all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

// For each sample of the listing, by id: the number that number_of() gives for its group. `key` ("order.part.groups")
// stands in messages; the file's state is added to `stamps`. Throws SetupError: the file can't be read or is too large,
// a line has no group, a line names a sample that is not listed or that has another group already, or a sample has no
// group.
std::vector<uint64_t> read_sample_groups(const std::string& path, std::string_view key, const Listing& listing,
                                         Stamps& stamps, const std::stop_token& stop,
                                         const std::function<uint64_t(std::string_view)>& number_of);

}  // namespace spdld::source
