// How many samples of an epoch may be bad before their ring fails: bad_max of the spec. A ring's batches are counted in
// the order of their steps, so that it fails with the same batch whatever the threads do, unless it began at
// another place.
//
//   "auto"       a hundredth of the samples that the rank takes in the epoch, and at least 32;
//                any number where samples are masked, since the trainer sees these itself
//   below 1      this part of the samples that the rank takes in the epoch
//   from 1 on    this number of samples
//
// Each epoch is counted anew. A rank that begins within an epoch, or seeks there, counts from that place on; its limit
// is for the samples from there to the epoch's end. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/base/result.h"
#include "daemon/batch/slot.h"
#include "daemon/sampler/sharding.h"

namespace spdld::pipeline {

class BadLimit {
 public:
  static constexpr uint64_t kFloor = 32;
  static constexpr double kAutoPart = 0.01;

  // `samples`: the samples of an epoch, where the sharding does not know them (a pushed order).
  BadLimit(const config::PipelineSpec& spec, const sampler::Sharding& sharding, uint64_t samples);

  // Counts the next batch of the ring. An error, with the first reasons: more samples are bad than allowed.
  Status note(const batch::Batch& batch);

 private:
  void begin(const batch::Batch& batch);
  uint64_t allowed(uint64_t samples) const;
  void keep_reasons(const batch::Batch& batch);
  Error error(const batch::Batch& batch) const;

  const bool is_on_;
  const std::optional<double> bad_max_;
  const sampler::Sharding sharding_;
  const uint64_t samples_;

  std::optional<uint64_t> epoch_;  // the epoch that is counted
  uint32_t run_ = 0;
  uint64_t taken_ = 0, bad_ = 0, bad_max_now_ = 0;
  std::vector<std::string> reasons_;   // the first different ones
  std::vector<std::string> examples_;  // each with its sample
};

}  // namespace spdld::pipeline
