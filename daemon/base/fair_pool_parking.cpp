// Threads of the pool that are parked in the middle of a task, and threads beyond the concurrency, which dear slices
// make necessary.
#include <algorithm>
#include <array>
#include <mutex>

#include "daemon/base/fair_pool.h"

namespace spdld {

// How many tasks may run at once now: one more than the concurrency where dear slices hold all of its threads, and
// somebody else wants one.
unsigned FairPool::seats(uint64_t now_ns) const {
  if (dear_slices_ < concurrency_ || concurrency_ == concurrency_max_) return concurrency_;
  return is_thread_wanted(now_ns) ? std::min(dear_slices_ + 1, concurrency_max_) : concurrency_;
}

// Whether somebody wants a thread who has no part in the dear slices.
bool FairPool::is_thread_wanted(uint64_t now_ns) const {
  for (const Group* group : groups_) {
    if (group->share_.is_waiting() && group->share_.dear == 0) return true;
    for (const Lane* lane : group->lanes_)
      if (lane->share_.dear == 0 && !lane->is_dear() && is_there(lane->share_, now_ns)) return true;
  }
  return false;
}

unsigned FairPool::seats() const {
  if (dear_slices_ < concurrency_ || concurrency_ == concurrency_max_) return concurrency_;
  return seats(clocks_.monotonic_ns());
}

// Whether the lane's next task may begin, where dear slices do not hold their half of the threads.
bool FairPool::may_begin(const Lane& lane, uint64_t now_ns) const {
  // A lane that is not known to be dear does not wait for tasks that another lane of its group has parked.
  const Share& own = lane.is_known_ && lane.is_dear() ? lane.group_->share_ : lane.share_;
  if (!lane.first_ || own.parked > 0) return false;
  const unsigned spare = runners() - budget_;
  if (lane.is_dear() && parked_ > spare - std::min(budget_, spare / 4)) return false;
  return !is_ahead(lane, now_ns);
}

// The thread of the parked task that may go on and whose lane has had the least.
FairPool::PoolThread* FairPool::next_parked(uint64_t now_ns) const {
  if (parked_ == 0) return nullptr;
  const bool full = is_full(now_ns);
  PoolThread* next = nullptr;
  for (const auto& one : pool_threads_) {
    if (!one->parked || (full && one->slice.is_dear)) continue;
    if (!next || is_behind(*one->slice.lane, *next->slice.lane)) next = one.get();
  }
  return next;
}

// Whether another lane is to have the thread now; that lane has a waiting task or a parked one.
bool FairPool::must_park(const Slice& slice, const Lane* waiting, const PoolThread* parked, uint64_t now_ns) {
  const Lane* const next = waiting ? waiting : parked ? parked->slice.lane : nullptr;
  if (next == nullptr || next == slice.lane || !is_behind(*next, *slice.lane)) return false;
  return now_ns - slice.turn_ns >= kTurnNs || (waiting && !next->is_long());
}

// A share that got something back does not pass rivals that came meanwhile: they began where the share stood then.
void FairPool::keep_place(Share& share, double before_ns, const Rivals& rivals) {
  if (share.virtual_ns >= before_ns || rivals.weight <= 0) return;
  share.virtual_ns = std::max(share.virtual_ns, std::min(before_ns, rivals.least_ns));
}

// The slice counts as what it has used, not any more as what it would probably use at once.
void FairPool::charge_on_the_way(Slice& slice, uint64_t cpu_now_ns, uint64_t now_ns) {
  Lane& lane = *slice.lane;
  const double lane_ns = lane.share_.virtual_ns, group_ns = lane.group_->share_.virtual_ns;
  charge_part(slice, cpu_now_ns);
  slice.start_ns = now_ns;
  keep_place(lane.share_, lane_ns, rivals_of(lane));
  keep_place(lane.group_->share_, group_ns, rivals_of(*lane.group_));
}

uint64_t FairPool::park_if_due(unsigned thread) {
  PoolThread& own = *pool_threads_[thread];
  Slice& slice = own.slice;  // its beginning is written by this thread, or while this thread is parked
  if (clocks_.monotonic_ns() - slice.start_ns < kLeastPartNs) return 0;
  const uint64_t cpu_now_ns = clocks_.thread_cpu_ns();
  std::unique_lock lock(mutex_);
  const uint64_t now_ns = clocks_.monotonic_ns();
  look_at_slices(now_ns);
  charge_on_the_way(slice, cpu_now_ns, now_ns);
  // As it would be if this thread were parked.
  const std::array<Share*, 2> shares = {&slice.lane->share_, &slice.lane->group_->share_};
  parked_++;
  for (Share* share : shares) share->parked++;
  if (slice.is_dear) dear_slices_--;
  Lane* waiting = least_served();
  PoolThread* const parked = next_parked(now_ns);
  if (slice.is_dear) dear_slices_++;
  for (Share* share : shares) share->parked--;
  parked_--;
  PoolThread* const idle = waiting ? idle_thread() : nullptr;
  if (!idle || (parked && !is_behind(*waiting, *parked->slice.lane))) waiting = nullptr;
  if (must_park(slice, waiting, parked, now_ns)) {
    park(own, waiting ? *idle : *parked, lock);
    return slice.turn_ns - now_ns;
  }
  call_for_waiting();  // a slice that is found to be dear may have made room
  return 0;
}

// The thread `other` serves in the place of `own`, which waits until it may go on.
void FairPool::park(PoolThread& own, PoolThread& other, std::unique_lock<std::mutex>& lock) {
  Slice& slice = own.slice;
  own.parked = true;
  parked_++;
  awake_--;
  count(slice, false);
  for (Share* share : {&slice.lane->share_, &slice.lane->group_->share_}) share->parked++;
  if (other.parked) {
    go_on(other);
  } else {
    call(other);
  }
  own.call.wait(lock, [&] { return !own.parked; });
}

void FairPool::go_on(PoolThread& parked) {
  Slice& slice = parked.slice;
  parked.parked = false;
  parked_--;
  awake_++;
  count(slice, true);
  for (Share* share : {&slice.lane->share_, &slice.lane->group_->share_}) share->parked--;
  slice.start_ns = slice.turn_ns = clocks_.monotonic_ns();
  // The time that it was parked is owed to it already, by its place.
  for (Share* share : {&slice.lane->share_, &slice.lane->group_->share_})
    if (!share->is_waiting()) share->idle_ns = slice.start_ns;
  parked.call.notify_one();
}

}  // namespace spdld
