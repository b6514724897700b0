#include "daemon/base/fair_pool.h"

#include <algorithm>

#include "daemon/base/cpu.h"

namespace spdld {

FairPool::Lane::Lane(FairPool& pool, double weight) : pool_(pool), weight_(weight) {
  std::lock_guard lock(pool_.mutex_);
  virtual_ns_ = pool_.virtual_now_ns_;
  pool_.lanes_.push_back(this);
}

FairPool::Lane::~Lane() {
  std::unique_lock lock(pool_.mutex_);
  pool_.quiet_.wait(lock, [this] { return !first_ && !running_; });
  pool_.lanes_.remove(this);
}

FairPool::FairPool(unsigned threads) {
  for (unsigned i = 0; i < std::max(threads, 1u); i++)
    threads_.emplace_back([this, i] {
      name_thread("decode", i);
      serve(i);
    });
}

FairPool::~FairPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void FairPool::submit(Lane& lane, FairTask& task) {
  std::lock_guard lock(mutex_);
  task.next_ = nullptr;
  if (lane.last_) {
    lane.last_->next_ = &task;
  } else {
    lane.first_ = &task;
    // A lane that slept gains no credit for it: it starts at the time of those that did not.
    if (!lane.running_) lane.virtual_ns_ = std::max(lane.virtual_ns_, virtual_now_ns_);
  }
  lane.last_ = &task;
  // Under the lock: the task may be the last one, and its end the pool's.
  if (idle_ > 0) wake_.notify_one();
}

FairPool::Lane* FairPool::least_served() {
  Lane* least = nullptr;
  for (Lane* lane : lanes_)
    if (lane->first_ && (!least || lane->virtual_ns_ < least->virtual_ns_)) least = lane;
  return least;
}

void FairPool::serve(unsigned thread) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Lane* lane = least_served();
    if (!lane) {
      if (stopping_) return;
      idle_++;
      wake_.wait(lock);
      idle_--;
      continue;
    }
    FairTask* task = lane->first_;
    lane->first_ = task->next_;
    if (!lane->first_) lane->last_ = nullptr;
    lane->running_++;
    virtual_now_ns_ = std::max(virtual_now_ns_, lane->virtual_ns_);

    lock.unlock();
    const uint64_t start_ns = thread_cpu_ns();
    task->run(thread);
    const uint64_t used_ns = thread_cpu_ns() - start_ns;
    busy_ns_.add(used_ns);
    lock.lock();

    lane->running_--;
    lane->busy_ns_.add(used_ns);
    lane->virtual_ns_ += static_cast<double>(used_ns) / lane->weight_;
    if (!lane->running_ && !lane->first_) quiet_.notify_all();
  }
}

}  // namespace spdld
