// The samples that a part of a listing leaves out: daemon/sampler/part.h applied to the samples' names, or to the names
// of their groups. Pure but for the file of groups; any thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::pipeline {

// Their ids, in rising order. Records are divided, and all rows of a record go with it. `key`: where the part was
// written ("order.part"). Throws SetupError where the file of groups can't be used (source/group_list.h), where a row
// has no group in the column of groups, where all samples are in one group, or where there are no classes to stratify
// by.
std::vector<uint64_t> outside_of(const config::PartSpec& wanted, const std::string& key, const source::Listing& listing,
                                 source::Stamps& lists, const std::stop_token& stop);

}  // namespace spdld::pipeline
