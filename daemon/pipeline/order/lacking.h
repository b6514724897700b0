// Finds samples without a member that an output wants: a picture without its label, say. Pure except for the listing's
// memory; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "daemon/pipeline/forms/caching.h"
#include "daemon/sampler/subset.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"

namespace spdld::pipeline {

// The ids, within the subset, of samples that lack one of the fields; a sentence for each is added to `remarks`.
// `first_id`: what the listing adds to the subset's ids. Throws SetupError (kStopping) once `stop` is asked for.
std::vector<uint64_t> find_lacking(const source::Listing& listing, std::span<const FieldUse> fields,
                                   const sampler::Subset& subset, uint64_t first_id, source::Remarks& remarks,
                                   const std::stop_token& stop);

}  // namespace spdld::pipeline
