// The node's decode threads, shared by every pipeline under one CPU budget. Each pipeline has a lane; a thread that is
// free takes the next task of the lane that has used the least CPU time for its weight (virtual-time fair queueing, as
// CFS does it), so that a pipeline of heavy pictures gets as much CPU, not as many pictures, as one of light ones. The
// pool never idles while a task waits. Tasks are intrusive: nothing is allocated on submit. Any thread may submit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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

  explicit FairPool(unsigned threads);
  // Precondition: no lane is left. Joins the threads.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }
  const Counter& busy_ns() const { return busy_ns_; }  // CPU time of all tasks

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

   private:
    friend class FairPool;
    FairPool& pool_;
    const double weight_;
    double virtual_ns_ = 0;  // guarded by the pool's mutex, as are the following
    FairTask* first_ = nullptr;
    FairTask* last_ = nullptr;
    unsigned running_ = 0;
    Counter busy_ns_;
  };

 private:
  void serve(unsigned thread);
  Lane* least_served();

  std::mutex mutex_;
  std::condition_variable wake_, quiet_;
  std::list<Lane*> lanes_;
  unsigned idle_ = 0;
  bool stopping_ = false;
  double virtual_now_ns_ = 0;
  Counter busy_ns_;
  std::vector<std::thread> threads_;
};

}  // namespace spdld
