#include "daemon/base/fair_pool.h"

#include <algorithm>

namespace spdld {
namespace {

// For how long a thread goes on with a lane before it charges what it used and looks whose turn it is.
constexpr uint64_t kSliceNs = 1'000'000;

}  // namespace

FairPool::Lane::Lane(FairPool& pool, double weight) : pool_(pool), weight_(weight) {
  std::lock_guard lock(pool_.mutex_);
  virtual_ns_ = pool_.virtual_now_ns_;
  pool_.lanes_.push_back(this);
}

FairPool::Lane::~Lane() {
  std::unique_lock lock(pool_.mutex_);
  pool_.quiet_.wait(lock, [this] { return !first_ && !slices_; });
  pool_.lanes_.remove(this);
}

void FairPool::Lane::set_weight(double weight) {
  std::lock_guard lock(pool_.mutex_);
  weight_ = weight;
}

double FairPool::Lane::weight() const {
  std::lock_guard lock(pool_.mutex_);
  return weight_;
}

FairPool::FairPool(unsigned threads, Clocks clocks)
    : clocks_(clocks), concurrency_(std::max(threads, 1u)), awake_(concurrency_) {
  for (unsigned i = 0; i < concurrency_; i++) seats_.push_back(std::make_unique<Seat>());
  for (unsigned i = 0; i < seats_.size(); i++)
    threads_.emplace_back([this, i] {
      name_thread("decode", i);
      serve(i);
    });
}

FairPool::~FairPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& seat : seats_) seat->call.notify_one();
  }
  for (auto& thread : threads_) thread.join();
}

void FairPool::set_concurrency(unsigned concurrency) {
  std::lock_guard lock(mutex_);
  concurrency_ = std::clamp(concurrency, 1u, threads());
  call_for_waiting();
}

unsigned FairPool::concurrency() const {
  std::lock_guard lock(mutex_);
  return concurrency_;
}

void FairPool::submit(Lane& lane, FairTask& task) {
  std::lock_guard lock(mutex_);
  task.next_ = nullptr;
  if (lane.last_) {
    lane.last_->next_ = &task;
  } else {
    lane.first_ = &task;
    // A lane that slept gains no credit for it: it starts at the time of the lanes that did not sleep.
    if (!lane.slices_) lane.virtual_ns_ = std::max(lane.virtual_ns_, virtual_now_ns_);
  }
  lane.last_ = &task;
  waiting_++;
  // Under the lock: the task may be the last one, and its end the pool's.
  call_for_waiting();
}

// Calls idle threads, the lowest first, until there is one on its way for every task that waits.
void FairPool::call_for_waiting() {
  for (unsigned i = 0; i < concurrency_ && coming_ < waiting() && awake_ < concurrency_; i++) {
    Seat& seat = *seats_[i];
    if (!seat.idle) continue;
    seat.idle = false;
    seat.called = true;
    awake_++;
    coming_++;
    seat.call.notify_one();
  }
}

FairPool::Lane* FairPool::least_served() {
  Lane* least = nullptr;
  for (Lane* lane : lanes_)
    if (lane->first_ && (!least || lane->virtual_ns_ < least->virtual_ns_)) least = lane;
  return least;
}

FairTask* FairPool::take(Lane& lane) {
  FairTask* task = lane.first_;
  lane.first_ = task->next_;
  if (!lane.first_) lane.last_ = nullptr;
  waiting_--;
  return task;
}

void FairPool::enter(Slice& slice, Lane& lane) {
  slice.lane = &lane;
  slice.start_ns = clocks_.monotonic_ns();
  lane.slices_++;
  virtual_now_ns_ = std::max(virtual_now_ns_, lane.virtual_ns_);
}

void FairPool::charge(Slice& slice, uint64_t cpu_now_ns) {
  Lane& lane = *slice.lane;
  const uint64_t used_ns = cpu_now_ns - slice.cpu_ns;
  slice.cpu_ns = cpu_now_ns;
  slice.lane = nullptr;
  busy_ns_.add(used_ns);
  lane.busy_ns_.add(used_ns);
  lane.virtual_ns_ += static_cast<double>(used_ns) / lane.weight_;
  lane.slices_--;
  if (!lane.slices_ && !lane.first_) quiet_.notify_all();
}

// A thread beyond the concurrency leaves at the end of its task, and one below it takes over.
bool FairPool::may_serve(unsigned thread) const { return thread < concurrency_ && awake_ <= concurrency_; }

void FairPool::rest(unsigned thread, std::unique_lock<std::mutex>& lock) {
  Seat& seat = *seats_[thread];
  seat.idle = true;
  awake_--;
  call_for_waiting();  // where this thread leaves tasks to another, which may be itself
  seat.call.wait(lock, [&] { return seat.called || stopping_; });
  if (!seat.called) {
    seat.idle = false;
    awake_++;
    return;
  }
  seat.called = false;
  coming_--;
}

void FairPool::serve(unsigned thread) {
  Slice slice;
  slice.cpu_ns = clocks_.thread_cpu_ns();
  std::unique_lock lock(mutex_);
  for (;;) {
    // While its slice lasts the thread stays with its lane: what it used is not charged yet.
    Lane* lane = slice.lane && slice.lane->first_ ? slice.lane : least_served();
    if (slice.lane && (lane != slice.lane || !may_serve(thread))) {
      charge(slice, clocks_.thread_cpu_ns());
      continue;
    }
    if (!lane && stopping_) return;
    if (!lane || (!may_serve(thread) && !stopping_)) {
      rest(thread, lock);
      continue;
    }
    if (!slice.lane) enter(slice, *lane);
    FairTask* task = take(*lane);
    lock.unlock();
    task->run(thread);
    // Where the thread will have nothing to do it charges now, not under the lock.
    const bool over = waiting() == 0 || clocks_.monotonic_ns() - slice.start_ns >= kSliceNs;
    const uint64_t cpu_now_ns = over ? clocks_.thread_cpu_ns() : 0;
    lock.lock();
    if (over) charge(slice, cpu_now_ns);
  }
}

}  // namespace spdld
