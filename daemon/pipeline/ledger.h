// Which samples a step of a pipeline has. The ledger computes them from the order, as the streams do, and keeps
// nothing: it knows steps that nobody has taken, and it knows nothing of substitutes. Control thread only; never slow.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/sampler/sharding.h"

namespace spdld::pipeline {

// Part of the samples of a step, for one rank.
struct LedgerPage {
  static constexpr uint64_t kSamplesMax = 8192;

  sampler::Slice slice;       // of the whole step
  std::vector<uint64_t> ids;  // of the samples asked for, at most kSamplesMax
};

// The samples of the step at `at` from number `first` on. None: the order of that epoch is drawn at length, which has
// begun: ask again. An error says why there is no such step, or why nobody but the trainer knows it.
Result<std::optional<LedgerPage>> samples_of(Pipeline& pipeline, const sampler::Sharding& sharding,
                                             sampler::Position at, uint64_t first);

}  // namespace spdld::pipeline
