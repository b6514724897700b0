// The node's decode threads, shared by every pipeline under one CPU budget. Each pipeline has a lane. A free thread
// takes the next task of the lane that has used the least CPU time for its weight (virtual-time fair queueing, as in
// CFS). So a pipeline of heavy pictures gets as much CPU time, not as many pictures, as a pipeline of light pictures.
//
// The number of serving threads can change at any time: threads 0 .. concurrency()-1 serve, and the others sleep. The
// lowest idle thread is woken first, so that the same few caches and decoders stay warm. No serving thread is idle
// while a task waits.
//
// CPU time is charged a slice at a time; a slice is successive tasks of one lane on one thread. Reading a thread's CPU
// clock is a system call, which costs much beside a task of some 50 us. Tasks are intrusive: nothing is allocated on
// submit. Any thread may submit.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/cpu.h"
#include "daemon/base/statistics.h"

namespace spdld {

class FairTask {
 public:
  virtual ~FairTask() = default;
  // On a pool thread; `thread` is 0 .. threads()-1. May submit again. Must not throw.
  virtual void run(unsigned thread) = 0;

 private:
  friend class FairPool;
  FairTask* next_ = nullptr;
};

class FairPool {
 public:
  class Lane;

  struct Clocks {
    uint64_t (*thread_cpu_ns)() = spdld::thread_cpu_ns;  // of the calling thread
    uint64_t (*monotonic_ns)() = spdld::monotonic_ns;
  };

  // All threads serve until set_concurrency(). Other clocks are for tests.
  explicit FairPool(unsigned threads) : FairPool(threads, Clocks()) {}
  FairPool(unsigned threads, Clocks clocks);
  // Precondition: no lane is left. Joins the threads.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(seats_.size()); }
  // How many tasks run at once, brought to 1 .. threads(). Any thread, at once: tasks that run are not interrupted, and
  // no further task begins while more than that many run.
  void set_concurrency(unsigned concurrency);
  unsigned concurrency() const;
  size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }  // tasks submitted and not begun
  const Counter& busy_ns() const { return busy_ns_; }  // CPU time of all tasks, a slice (1 ms and a task) late at most

  // The task must stay until it has run; a task is in at most one lane at a time.
  void submit(Lane& lane, FairTask& task);

  // A queue of tasks in the order of submission. Its owner must outlive its tasks.
  class Lane {
   public:
    explicit Lane(FairPool& pool, double weight = 1.0);
    ~Lane();  // waits for its tasks; never on a pool thread
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    const Counter& busy_ns() const { return busy_ns_; }
    // Lanes that always have tasks waiting get CPU time in the ratio of their weights, which are above 0. Any thread.
    void set_weight(double weight);
    double weight() const;

   private:
    friend class FairPool;
    FairPool& pool_;
    double weight_;  // guarded by the pool's mutex, as are the following
    double virtual_ns_ = 0;
    FairTask* first_ = nullptr;
    FairTask* last_ = nullptr;
    unsigned slices_ = 0;  // threads that run its tasks and have not charged them yet
    Counter busy_ns_;
  };

 private:
  // A thread's state: idle, or awake (from the moment it is called), and then maybe still on its way to its first task.
  struct Seat {
    std::condition_variable call;
    bool idle = false, called = false;
  };
  // Successive tasks of one lane on one thread; no lane: none is open.
  struct Slice {
    Lane* lane = nullptr;
    uint64_t start_ns = 0;  // monotonic
    uint64_t cpu_ns = 0;    // the thread's CPU time at the last charge
  };

  void serve(unsigned thread);
  bool may_serve(unsigned thread) const;
  void rest(unsigned thread, std::unique_lock<std::mutex>& lock);
  FairTask* take(Lane& lane);
  void enter(Slice& slice, Lane& lane);
  void charge(Slice& slice, uint64_t cpu_now_ns);
  void call_for_waiting();
  Lane* least_served();

  const Clocks clocks_;
  mutable std::mutex mutex_;
  std::condition_variable quiet_;
  std::list<Lane*> lanes_;
  std::atomic<size_t> waiting_{0};  // written under the mutex
  unsigned concurrency_;
  unsigned awake_ = 0;   // threads that are not idle
  unsigned coming_ = 0;  // awake threads that were called and are not yet there: each will take a task
  bool stopping_ = false;
  double virtual_now_ns_ = 0;
  Counter busy_ns_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::thread> threads_;
};

}  // namespace spdld
