#include "daemon/sampler/sharding.h"

#include <algorithm>
#include <string>

#include "daemon/base/result.h"

namespace spdld::sampler {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

uint64_t global_size_of(const config::BatchSpec& batch, uint64_t world_size) {
  if ((batch.size == 0) == (batch.global_size == 0)) refuse("batch: give exactly one of size and global_size.");
  if (batch.global_size != 0) {
    if (batch.global_size % world_size != 0) {
      refuse("batch.global_size is " + std::to_string(batch.global_size) + ", which the world_size of " +
             std::to_string(world_size) + " does not divide: choose a multiple of it.");
    }
    return batch.global_size;
  }
  uint64_t global_size = 0;
  if (__builtin_mul_overflow(batch.size, world_size, &global_size)) {
    refuse("batch.size " + std::to_string(batch.size) + " times the world_size of " + std::to_string(world_size) +
           " is too large: make one of them smaller.");
  }
  return global_size;
}

}  // namespace

Sharding::Sharding(uint64_t samples, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size)
    : samples_(samples), rank_(rank), world_size_(world_size), pads_(batch.last == config::LastBatch::kPad) {
  if (world_size == 0) refuse("world_size is 0: it must be at least 1.");
  if (rank >= world_size) {
    refuse("rank is " + std::to_string(rank) + " of a world_size of " + std::to_string(world_size) +
           ": it must be at most " + std::to_string(world_size - 1) + ".");
  }
  if (samples == 0) refuse("the source lists no sample, so there is nothing to hand out.");
  global_size_ = global_size_of(batch, world_size);
  batch_size_ = global_size_ / world_size;
  steps_ = samples / global_size_;
  if (batch.last != config::LastBatch::kDrop) {
    steps_ += samples % global_size_ != 0 ? 1 : 0;
  } else if (steps_ == 0) {
    refuse("an epoch has no step: the source lists " + std::to_string(samples) +
           " samples, fewer than a global batch of " + std::to_string(global_size_) +
           ", and batch.last = \"drop\"; take a smaller batch or batch.last = \"short\" or \"pad\".");
  }
  uint64_t end = 0;
  if (pads_ && __builtin_mul_overflow(steps_, global_size_, &end)) {
    refuse("a global batch of " + std::to_string(global_size_) + " is too large to be filled up: make it smaller.");
  }
}

Sharding Sharding::without_steps() const {
  Sharding open = *this;
  open.steps_ = 0;
  return open;
}

Slice Sharding::slice(uint64_t step) const {
  const uint64_t start = step * global_size_;  // < samples_, so it does not overflow
  if (pads_) {
    const uint64_t first = start + rank_ * batch_size_, end = first + batch_size_;
    return {first, batch_size_, end > samples_ ? std::min(batch_size_, end - samples_) : 0};
  }
  const uint64_t count = std::min(global_size_, samples_ - start);
  const uint64_t share = count / world_size_, rest = count % world_size_;  // the first `rest` ranks get one more
  return {start + rank_ * share + std::min(rank_, rest), share + (rank_ < rest ? 1 : 0), 0};
}

uint64_t Sharding::epoch_samples() const { return (steps_ - 1) * batch_size_ + slice(steps_ - 1).count; }

}  // namespace spdld::sampler
