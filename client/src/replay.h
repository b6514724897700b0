// A replay: a loader hands out its first batches again and again, without its daemon. The trainer's speed is then its
// ceiling, because loading costs it nothing. One thread, the loader's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/src/ring/batch.h"

namespace spdld::client {

inline constexpr uint32_t kReplayMax = 32;  // batches that are kept; a ring has 64 slots at most

class Replay {
 public:
  using Clock = std::chrono::steady_clock;

  // `wanted`: how many batches are kept, at most kReplayMax; 0: there is no replay.
  explicit Replay(uint32_t wanted) : wanted_(wanted) {}

  // The caller may hold `held_max` batches: a replay of more could never begin.
  void bound(uint32_t held_max) { wanted_ = std::min(wanted_, held_max); }
  uint32_t wanted() const { return wanted_; }
  // Whether the batches to replay are there: no other ones come.
  bool has_begun() const { return wanted_ != 0 && kept_.size() >= wanted_; }
  // The batch is being handed out. It is kept, unless the replay has begun or there is none.
  void keep(const Batch& batch);
  // The next of the batches that were kept, for the step at `position`. Precondition: has_begun().
  std::unique_ptr<Batch> next(Position position);
  // The memory of the batches is gone, since it was the daemon's alone and the daemon has ended.
  bool has_lost_memory() const;
  // The leases end with the batches that are handed out.
  void end() { kept_.clear(); }

  // How many steps the pace below is measured over; 0: too few were handed out.
  uint64_t paced_steps() const { return steps_ > kWarmupSteps ? steps_ - kWarmupSteps - 1 : 0; }
  // The trainer's time for a step, after its first ones: a compiler or a cache warms up in these.
  double step_ms() const;
  // A sentence for people about the trainer's pace; empty: too few steps were handed out.
  std::string pace_text() const;

 private:
  static constexpr uint64_t kWarmupSteps = 10;

  uint32_t wanted_;
  std::vector<std::unique_ptr<const Batch>> kept_;  // none of them is ever handed out itself
  uint64_t steps_ = 0, samples_ = 0;                // handed out by next; samples after the first steps alone
  Clock::time_point warm_at_, last_at_;
};

// The warning for a caller who attaches with such a replay.
std::string replay_warning(uint32_t batches);

}  // namespace spdld::client
