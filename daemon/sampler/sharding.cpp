#include "daemon/sampler/sharding.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/base/wide.h"

namespace spdld::sampler {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

uint64_t all_ranks(const std::string& what, uint64_t batch_size, uint64_t world_size) {
  uint64_t global_size = 0;
  if (__builtin_mul_overflow(batch_size, world_size, &global_size)) {
    refuse(what + " times the world_size of " + std::to_string(world_size) +
           " is too large: make one of them smaller.");
  }
  return global_size;
}

uint64_t global_size_of(const config::BatchSpec& batch, uint64_t world_size) {
  if ((batch.size == 0) == (batch.global_size == 0)) refuse("batch: give exactly one of size and global_size.");
  if (batch.global_size != 0) {
    if (batch.global_size % world_size != 0) {
      refuse("batch.global_size is " + std::to_string(batch.global_size) + ", which the world_size of " +
             std::to_string(world_size) + " does not divide: choose a multiple of it.");
    }
    return batch.global_size;
  }
  return all_ranks("batch.size " + std::to_string(batch.size), batch.size, world_size);
}

}  // namespace

Sharding::Sharding(uint64_t rank, uint64_t world_size, config::LastBatch last)
    : rank_(rank), world_size_(world_size), last_(last) {
  if (world_size == 0) refuse("world_size is 0: it must be at least 1.");
  if (rank >= world_size) {
    refuse("rank is " + std::to_string(rank) + " of a world_size of " + std::to_string(world_size) +
           ": it must be at most " + std::to_string(world_size - 1) + ".");
  }
}

Sharding::Sharding(uint64_t samples, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size)
    : Sharding(rank, world_size, batch.last) {
  if (samples == 0) refuse("the source lists no sample, so there is nothing to hand out.");
  group_ = std::max<uint64_t>(batch.group, 1);
  add({0, samples}, global_size_of(batch, world_size));
  if (batch_size_ % group_ != 0) {
    refuse("batch.group is " + std::to_string(group_) + ", which does not divide the " + std::to_string(batch_size_) +
           " samples that a rank takes in a step (world_size " + std::to_string(world_size) +
           "): choose another group or another batch size.");
  }
  if (steps_ > 0) return;
  refuse("an epoch has no step: the source lists " + std::to_string(samples) +
         " samples, fewer than a global batch of " + std::to_string(global_size_) +
         ", and batch.last = \"drop\"; take a smaller batch or batch.last = \"short\" or \"pad\".");
}

Sharding::Sharding(const Order& order, config::LastBatch last, uint64_t rank, uint64_t world_size)
    : Sharding(rank, world_size, last) {
  const Buckets& buckets = *order.buckets();
  for (const Buckets::Bucket& bucket : buckets.list()) {
    const std::string what = "a batch of " + std::to_string(bucket.batch_size) + " samples";
    add({bucket.first, bucket.size}, all_ranks(what, bucket.batch_size, world_size));
  }
  if (steps_ == 0) {
    refuse("an epoch has no step: no bucket of the " + std::to_string(buckets.size()) +
           " samples has enough for a batch of each of " + std::to_string(world_size) +
           " ranks, and batch.last = \"drop\"; take a smaller batch.cost_max, fewer batch.buckets, or batch.last = "
           "\"short\" or \"pad\".");
  }
  mix_steps(order);
}

Sharding::Sharding(const Order& order, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size)
    : Sharding(rank, world_size, batch.last) {
  const Buckets& buckets = *order.buckets();
  for (const Buckets::Bucket& bucket : buckets.list())
    add({bucket.first, bucket.size}, global_size_of(batch, world_size));
  if (steps_ == 0) {
    refuse("an epoch has no step: none of the " + std::to_string(buckets.list().size()) +
           " sizes of pictures has the " + std::to_string(global_size_) +
           " samples of a global batch, and batch.last = \"drop\"; take a smaller batch, fewer sizes, or batch.last = "
           "\"short\" or \"pad\".");
  }
  mix_steps(order);
}

void Sharding::mix_steps(const Order& order) {
  if (order.rule().shuffle == config::Shuffle::kOff)
    sort_steps(*order.buckets());
  else
    seed_ = order.rule().seed;
}

void Sharding::add(const Stretch& of, uint64_t global_size) {
  global_size_ = std::max(global_size_, global_size);
  batch_size_ = std::max(batch_size_, global_size / world_size_);
  const bool has_rest = last_ != config::LastBatch::kDrop && of.size % global_size != 0;
  const uint64_t steps = of.size / global_size + (has_rest ? 1 : 0);
  uint64_t end = 0;
  if (last_ == config::LastBatch::kPad &&
      (__builtin_mul_overflow(steps, global_size, &end) || __builtin_add_overflow(of.first, end, &end))) {
    refuse("a global batch of " + std::to_string(global_size) + " is too large to be filled up: make it smaller.");
  }
  if (steps == 0) return;
  cuts_.push_back({of, global_size, global_size / world_size_, steps, steps_});
  cuts_.back().moved = moved_of(cuts_.back());
  steps_ += steps;
}

uint64_t Sharding::rest_of(const StretchCut& cut) const {
  return last_ == config::LastBatch::kShort ? cut.of.size % cut.global_size : 0;
}

// Which samples the evened steps have does not depend on the number of ranks, as long as they are evened at all.
uint64_t Sharding::moved_of(const StretchCut& cut) const {
  const uint64_t rest = groups_of(rest_of(cut)), full = cut.global_size / group_;
  if (rest == 0 || rest >= world_size_ || cut.steps < 2 || full / world_size_ < 2) return 0;
  return cut.global_size - (full + rest - (full + rest) / 2) * group_;
}

bool Sharding::is_evened() const {
  return std::any_of(cuts_.begin(), cuts_.end(), [](const StretchCut& cut) { return cut.moved > 0; });
}

uint64_t Sharding::empty_steps() const {
  if (steps_ == 0) return 0;
  return static_cast<uint64_t>(std::count_if(cuts_.begin(), cuts_.end(), [this](const StretchCut& cut) {
    const uint64_t rest = groups_of(rest_of(cut));
    return rest > 0 && rest < world_size_ && cut.moved == 0;
  }));
}

uint64_t Sharding::last_samples() const {
  if (steps_ == 0 || !is_in_turn()) return 0;
  const StretchCut& cut = cuts_.front();
  return std::min(cut.global_size, cut.of.size - cut.start(cut.steps - 1));
}

// Each step's first sample has a number of its own, so that no two steps are equal.
void Sharding::sort_steps(const Buckets& buckets) {
  std::vector<uint64_t> firsts;
  firsts.reserve(steps_);
  for (const StretchCut& cut : cuts_)
    for (uint64_t step = 0; step < cut.steps; ++step)
      firsts.push_back(buckets.number_at(cut.of.first + cut.start(step)));
  std::vector<uint32_t> order(firsts.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return firsts[a] < firsts[b]; });
  listed_ = std::make_shared<const std::vector<uint32_t>>(std::move(order));
}

Sharding Sharding::of_rank(uint64_t rank) const {
  Sharding other = *this;
  other.rank_ = rank;
  return other;
}

Sharding Sharding::without_steps() const {
  Sharding open = *this;
  open.steps_ = 0;
  return open;
}

// Version 1 of the order (order.cpp): the keys of the steps' permutation are the draw named "steps" of (seed, epoch),
// sample 0.
Slice Sharding::slice(Position at) const {
  uint64_t step = at.step;
  if (seed_) step = Permutation(steps_, Draw(*seed_, at.epoch, 0, draw_key("steps")))(step);
  if (listed_) step = (*listed_)[step];
  const auto above = std::upper_bound(cuts_.begin(), cuts_.end(), step,
                                      [](uint64_t wanted, const StretchCut& cut) { return wanted < cut.steps_before; });
  const StretchCut& cut = *(above - 1);
  return slice_of(cut, step - cut.steps_before);
}

Slice Sharding::slice_of(const StretchCut& cut, uint64_t step) const {
  const uint64_t start = cut.start(step);
  if (last_ == config::LastBatch::kPad) {
    const uint64_t first = start + rank_ * cut.batch_size, end = first + cut.batch_size;
    const uint64_t padded = end > cut.of.size ? std::min(cut.batch_size, end - cut.of.size) : 0;
    return {cut.of.first + first, cut.batch_size, padded, cut.of};
  }
  const uint64_t most = step + 2 == cut.steps ? cut.global_size - cut.moved : cut.global_size;
  const uint64_t count = std::min(most, cut.of.size - start);
  const uint64_t groups = groups_of(count);                                  // the epoch's last one may be shorter
  const uint64_t share = groups / world_size_, rest = groups % world_size_;  // the first `rest` ranks get one more
  const uint64_t first = std::min((rank_ * share + std::min(rank_, rest)) * group_, count);
  const uint64_t wanted = (share + (rank_ < rest ? 1 : 0)) * group_;
  return {cut.of.first + start + first, std::min(wanted, count - first), 0, cut.of};
}

uint64_t Sharding::epoch_samples() const {
  uint64_t sum = 0;
  for (const StretchCut& cut : cuts_) {
    const uint64_t uneven = std::min<uint64_t>(cut.steps, 2);
    sum += (cut.steps - uneven) * cut.batch_size;
    for (uint64_t step = cut.steps - uneven; step < cut.steps; ++step) sum += slice_of(cut, step).count;
  }
  return sum;
}

uint64_t Sharding::samples_from(Position at) const {
  const uint64_t all = epoch_samples();
  if (is_in_turn() && at.step + 1 == steps_) return slice_of(cuts_.front(), at.step).count;
  if (is_in_turn()) return all - std::min(all, at.step * batch_size_);
  return static_cast<uint64_t>(Wide{all} * (steps_ - at.step) / steps_);
}

}  // namespace spdld::sampler
