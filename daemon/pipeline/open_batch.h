// A batch that is being filled: a step, its slot, and which of its samples are taken.
//
// Tasks take ranges of neighbouring samples. A task takes its first range of a batch under the stream's lock, and from
// then on without it, as long as one of the batch's samples is the task's and unfinished: such a batch is neither
// settled nor filled anew. The task counts the samples that it finishes, and tells the batch when it leaves. So a batch
// takes the lock twice for each task that works on it, and not for each sample.
//
// A batch is kOpen until its last sample is there. Where something is left to be done for the batch as a whole, the
// task that finds it whole then does that outside of the lock, while the batch is kFinishing; a batch that needs
// nothing more is kFinished at once. A batch that is abandoned while it is kFinishing goes back when that has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "daemon/batch/slot.h"
#include "daemon/pipeline/steps.h"
#include "proto/guarded_state.h"

namespace spdld::pipeline {

// Neighbouring samples of a batch.
struct SampleRange {
  uint64_t first = 0, count = 0;
};

enum class Filling : uint8_t { kOpen, kFinishing, kFinished, kAbandoned };
constexpr bool may_become(Filling from, Filling to) {
  switch (to) {
    case Filling::kOpen:
      return from == Filling::kFinished || from == Filling::kAbandoned;  // its slot is filled anew
    case Filling::kFinishing:
      return from == Filling::kOpen;
    case Filling::kFinished:
      return from == Filling::kOpen || from == Filling::kFinishing;
    case Filling::kAbandoned:
      return from != Filling::kAbandoned;
  }
  return false;
}

class OpenBatch {
 public:
  // Under the stream's lock, as is everything up to take().
  void open(const batch::Batch& of, Steps::Step its_step, uint64_t now_ns);
  bool has_returned() const { return !returned_.empty(); }
  bool has_untaken() const { return has_returned() || untaken_in_order() > 0; }
  // One sample that was given back, else a range from the order of the batch; empty: there is nothing left.
  SampleRange take_first(uint64_t most, unsigned threads);
  // Samples that a task has taken and not begun. Other tasks take them one by one.
  void give_back(const SampleRange& range) { returned_.push_back(range); }
  // Its samples are of no use any more. Returns how many of them nobody will take.
  uint64_t abandon();
  void begin_finishing();  // precondition: is_whole()
  void end_finishing() { state_.change(Filling::kFinished); }
  Filling state() const { return state_; }
  // Takes `count` off the samples that are not finished.
  void finish(uint64_t count) { remaining_ -= count; }
  bool is_whole() const { return remaining_ == 0; }

  // Any thread, for a task that has an unfinished sample of this batch. At most `most` samples, and near the batch's
  // end so few that there are some for all of `threads`.
  SampleRange take(uint64_t most, unsigned threads);
  bool is_abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

  // Constant while the batch is open.
  Steps::Step step;
  uint8_t* memory = nullptr;  // of the slot, where samples are written
  memory::SlotMemory* slot_memory = nullptr;
  uint64_t start_ns = 0;
  // Its lists are under the stream's lock.
  batch::Batch batch;

 private:
  uint64_t untaken_in_order() const;

  uint64_t remaining_ = 0;             // samples that are not finished, as far as tasks have told
  std::vector<SampleRange> returned_;  // taken and given back
  GuardedState<Filling, may_become> state_{Filling::kFinished};
  std::atomic<bool> abandoned_{false};  // what state_ says of it, for tasks without the lock
  alignas(kStripeAlignment) std::atomic<uint64_t> next_{
      0};  // the first sample that was never taken; may pass the batch's end
};

}  // namespace spdld::pipeline
