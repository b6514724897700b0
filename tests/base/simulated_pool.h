// A pool whose tasks last as long as they say, in a time that moves only from the end of one part of a task to the end
// of the next: no clock of the machine is read.
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/fair_pool.h"

namespace spdld::test {

constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

inline std::atomic<uint64_t> now_ns{0};
inline thread_local uint64_t used_ns = 0;

class Simulation {
 public:
  struct Task final : FairTask {
    void run(unsigned thread) override { of->work(*this, thread); }
    Simulation* of = nullptr;
    FairPool::Lane* lane = nullptr;
    uint64_t lasts_ns = 0, ends_ns = 0, ran = 0;
    uint64_t part_ns = 0, parts = 0;  // after each part it gives way; 0: it never does
    bool may_end = false, goes_on = true;
  };

  explicit Simulation(unsigned threads) : pool(threads, {[] { return used_ns; }, [] { return now_ns.load(); }}) {
    now_ns = kSecond;
  }
  // Lets every task end.
  ~Simulation() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    std::jthread time([](const std::stop_token& stop) {  // tasks that wait for their turn do so in the simulated time
      for (; !stop.stop_requested(); std::this_thread::yield()) now_ns += kMs;
    });
    lanes_.clear();  // waits for their tasks
  }

  FairPool::Lane& lane(double weight = 1) {
    return *lanes_.emplace_back(std::make_unique<FairPool::Lane>(pool, weight));
  }
  // A task that is submitted again each time it ends, until pause().
  Task& task(FairPool::Lane& lane, uint64_t lasts_ns, uint64_t part_ns = 0) {
    Task& made = *tasks_.emplace_back(std::make_unique<Task>());
    made.of = this, made.lane = &lane, made.lasts_ns = lasts_ns, made.part_ns = part_ns;
    return made;
  }
  void begin(Task& task) {
    task.goes_on = true;
    pool.submit(*task.lane, task);
  }
  void begin(FairPool::Lane& lane, uint64_t lasts_ns, size_t count, uint64_t part_ns = 0) {
    std::vector<Task*> all;
    for (size_t i = 0; i < count; i++) all.push_back(&task(lane, lasts_ns, part_ns));
    for (Task* one : all) begin(*one);
  }

  // Lets time go by in which no task runs.
  void pass(uint64_t ns) {
    for (const auto& lane : lanes_) await_charge(*lane);
    now_ns += ns;
  }
  // Waits until the pool has charged what the lane used: else a slice that is over seems to last while time moves on.
  void await_charge(const FairPool::Lane& lane) {
    while (lane.busy_ns().value() < used(lane)) std::this_thread::yield();
  }
  // Waits until so many tasks run, and no more can begin. How many of a lane's tasks run then.
  void settle(size_t running) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return running_.size() == running; }))
      FAIL(running_.size() << " tasks run in place of " << running);
  }
  size_t running(const FairPool::Lane& lane) {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(
        std::count_if(running_.begin(), running_.end(), [&](const Task* task) { return task->lane == &lane; }));
  }
  // The task whose part ends next ends it; its thread goes on, or has taken another task, when settle() returns.
  Task& step() {
    std::unique_lock lock(mutex_);
    Task& next = **std::min_element(running_.begin(), running_.end(),
                                    [](const Task* a, const Task* b) { return a->ends_ns < b->ends_ns; });
    now_ns = next.ends_ns;
    const uint64_t parts = next.parts;
    next.may_end = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return next.parts > parts; });
    return next;
  }
  void run_until(uint64_t until_ns, size_t running) {
    for (settle(running); now_ns < until_ns; settle(running)) step();
  }
  uint64_t used(const FairPool::Lane& lane) {
    std::lock_guard lock(mutex_);
    return used_[&lane];
  }

  FairPool pool;

 private:
  void work(Task& task, unsigned thread) {
    std::unique_lock lock(mutex_);
    for (uint64_t left_ns = task.lasts_ns;;) {
      const uint64_t part_ns = task.part_ns ? std::min(task.part_ns, left_ns) : left_ns;
      run_part(task, part_ns, lock);
      left_ns -= part_ns;
      if (left_ns == 0 || over_) break;
      note_part(task);
      lock.unlock();
      pool.give_way(thread);
      lock.lock();
    }
    if (task.goes_on && !over_) pool.submit(*task.lane, task);
    task.ran++;
    note_part(task);
  }
  void run_part(Task& task, uint64_t lasts_ns, std::unique_lock<std::mutex>& lock) {
    task.ends_ns = now_ns + lasts_ns;
    running_.push_back(&task);
    changed_.notify_all();
    changed_.wait(lock, [&] { return task.may_end || over_; });
    std::erase(running_, &task);
    task.may_end = false;
    used_ns += lasts_ns;
    used_[task.lane] += lasts_ns;
  }
  void note_part(Task& task) {
    task.parts++;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task*> running_;
  std::map<const FairPool::Lane*, uint64_t> used_;
  bool over_ = false;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<std::unique_ptr<FairPool::Lane>> lanes_;
};

}  // namespace spdld::test
