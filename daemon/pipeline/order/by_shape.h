// The samples' order where each batch has pictures of one size out of several (config/batch_shapes.h).
#pragma once

#include <filesystem>
#include <stop_token>

#include "config/batch_shapes.h"
#include "config/spec.h"
#include "daemon/pipeline/order/costs.h"
#include "daemon/sampler/subset.h"
#include "daemon/source/listing.h"

namespace spdld::pipeline {

// Measures the samples' pictures, and sorts each to the size with the closest proportions. A picture that can't be
// measured has the size that most pictures have. `kept`: where measures outlive the daemon; empty: nowhere. Throws
// SetupError: a field that has no bytes of its own, too many samples, or trouble with their files.
Sorted order_by_shape(const config::PipelineSpec& spec, const config::BatchShapes& shapes,
                      const source::Listing& listing, sampler::Subset subset, const std::filesystem::path& kept,
                      const std::stop_token& stop);

}  // namespace spdld::pipeline
