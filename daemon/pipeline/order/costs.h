// The costs of samples, and the samples' order where batches are bounded by cost ([batch] cost_max).
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/sampler/order.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"

namespace spdld::pipeline {

// Samples that were measured and sorted into buckets.
struct Sorted {
  sampler::Order order;     // of the samples of the subset, except those left out
  std::string fingerprint;  // 32 hexadecimal digits: of the measure of every listed sample
};

// Measures the samples. Precondition: spec.batch.cost. Samples that cost more than a batch may are refused, or left
// out with a remark, as cost_over says. `kept`: where measures outlive the daemon; empty: nowhere. Throws
// SetupError: a field that has no bytes of its own, samples that cost too much, too many samples, or trouble with their
// files.
Sorted order_by_cost(const config::PipelineSpec& spec, const source::Listing& listing, sampler::Subset subset,
                     const std::filesystem::path& kept, source::Remarks& remarks, const std::stop_token& stop);

}  // namespace spdld::pipeline
