// How an epoch is cut into steps and a step into ranks, without any node talking to another.
//
// The positions of an epoch are one stretch, or several: one for each bucket of cost (buckets.h). A stretch is cut into
// steps of its own size. With G the global batch of a stretch of N positions from F on, its step s takes the positions
// [F + s*G, F + min((s+1)*G, N)), and each rank a contiguous slice of them. Every rank has the same number of steps;
// the short last step of a stretch is spread evenly, so some ranks may get one sample fewer. Where its samples are
// fewer than the ranks, the last two steps of the stretch are evened: they share their samples, half and half, so that
// no rank gets a batch without samples. That can't be done where the stretch has a single step, or where a rank takes a
// single sample in a step; then some ranks get none (empty_steps()). With `pad` such a step is full as well: its
// positions go on beyond the stretch's end, where its first positions come again (several times where G > N). With
// `drop` there is no such step.
//
// The steps of a single stretch come in turn. The steps of buckets come mixed, so that cheap and costly batches follow
// one another: by a keyed permutation of all steps of the epoch, or with shuffle = "off" in the order of their first
// samples in the listing.
//
// Where samples are mixed in groups ([batch] group), no group is cut: a rank's samples of a step are whole groups, and
// of a short last step the ranks take groups, as evenly as these allow. Values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/spec.h"
#include "daemon/sampler/order.h"

namespace spdld::sampler {

// Positions of an epoch that are cut together.
struct Stretch {
  uint64_t first = 0, size = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

struct Slice {
  uint64_t first = 0;   // position in the epoch; with `pad` it may lie at the stretch's end or beyond
  uint64_t count = 0;   // valid samples, at most batch_size
  uint64_t padded = 0;  // valid samples, at the slice's end, at positions from the stretch's end on
  Stretch of = {};
  // The position whose sample is sample `index` of the slice: the stretch begins anew behind its end.
  uint64_t place(uint64_t index) const { return of.first + (first - of.first + index) % of.size; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// A place in a run: the next step to be handed out. epoch may be `epochs` (at the end).
struct Position {
  uint64_t epoch = 0, step = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// The position `steps` steps later, in epochs of `steps_per_epoch` steps.
inline Position steps_on(Position position, uint64_t steps, uint64_t steps_per_epoch) {
  const uint64_t step = position.step + steps;  // far below 2^64: a step is within an epoch
  return {position.epoch + step / steps_per_epoch, step % steps_per_epoch};
}

class Sharding {
 public:
  // Throws SetupError: rank >= world_size, a global size that world_size does not divide, no step at all (fewer samples
  // than a global batch with `drop`), nothing listed, a group that does not divide the rank's samples of a step.
  Sharding(uint64_t samples, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size);
  // Of an order with buckets, whose batches are bounded by cost. Throws SetupError: rank >= world_size, no step at all.
  Sharding(const Order& order, config::LastBatch last, uint64_t rank, uint64_t world_size);
  // Of an order with buckets of shapes, whose batches are as large as `batch` says. Throws SetupError as the first one.
  Sharding(const Order& order, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size);

  // A sharding of the same sizes, for epochs that the client cuts into steps ([order] shuffle = "client"): each rank
  // has epochs of its own.
  Sharding without_steps() const;
  // The part of another rank of the same job; rank < world_size().
  Sharding of_rank(uint64_t rank) const;

  uint64_t steps() const { return steps_; }              // of an epoch, for every rank; 0: not known
  uint64_t batch_size() const { return batch_size_; }    // this rank's, of a full step; the largest of all stretches'
  uint64_t global_size() const { return global_size_; }  // G; the largest
  uint64_t world_size() const { return world_size_; }
  bool is_only_rank() const { return world_size_ == 1; }
  // Whether steps take the positions of an epoch in turn, all full steps equally many.
  bool is_in_turn() const { return !seed_ && !listed_; }
  // Whether the last two steps of the epoch, or of a bucket, are evened. Then another number of ranks may cut the same
  // global batches elsewhere.
  bool is_evened() const;
  uint64_t empty_steps() const;  // of an epoch: in which some rank gets no sample
  // Of all ranks in an epoch's last step, without padding. 0: epochs differ in it, or the client ends them.
  uint64_t last_samples() const;
  // at.step < steps(). O(log stretches).
  Slice slice(Position at) const;
  // Whether an epoch may have this place. The epoch's end is a place too: another name of the next epoch's beginning.
  bool has(Position at) const { return steps_ == 0 || at.step <= steps_; }
  Position by_one_name(Position at) const { return steps_ && at.step == steps_ ? Position{at.epoch + 1, 0} : at; }
  uint64_t epoch_samples() const;  // this rank's samples in an epoch, padded ones as well
  // This rank's samples from a step to the epoch's end. Where steps do not come in turn, it is the mean of all epochs.
  uint64_t samples_from(Position at) const;

 private:
  struct StretchCut {
    Stretch of;
    uint64_t global_size = 0, batch_size = 0;
    uint64_t steps = 0, steps_before = 0;  // > 0; of the stretches before
    uint64_t moved = 0;                    // samples that the last step takes from the step before it
    // The step's first position in the stretch. step <= steps; it does not overflow: below the stretch's size, or with
    // `pad` checked before.
    uint64_t start(uint64_t step) const { return step * global_size - (step + 1 == steps ? moved : 0); }
  };

  Sharding(uint64_t rank, uint64_t world_size, config::LastBatch last);
  void add(const Stretch& of, uint64_t global_size);
  void mix_steps(const Order& order);
  void sort_steps(const Buckets& buckets);
  Slice slice_of(const StretchCut& cut, uint64_t step) const;
  uint64_t moved_of(const StretchCut& cut) const;
  uint64_t groups_of(uint64_t samples) const { return samples / group_ + (samples % group_ != 0 ? 1 : 0); }
  uint64_t rest_of(const StretchCut& cut) const;  // samples of a short last step; 0: it has none

  uint64_t rank_, world_size_, batch_size_ = 0, global_size_ = 0, steps_ = 0;
  uint64_t group_ = 1;  // positions that stay together
  config::LastBatch last_;
  std::vector<StretchCut> cuts_;
  // Which step of all stretches' steps, one stretch's after the other's, comes at a step of the epoch.
  std::optional<uint64_t> seed_;                         // by a permutation
  std::shared_ptr<const std::vector<uint32_t>> listed_;  // in the listing's order; 4 bytes a step
};

}  // namespace spdld::sampler
