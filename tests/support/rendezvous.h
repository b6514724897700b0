// A barrier that the thread sanitizer understands: the barrier of g++ 12's library synchronises in ways that it does
// not see.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace spdld::test {

class Rendezvous {
 public:
  explicit Rendezvous(unsigned count) : count_(count) {}

  // Returns when `count` threads have called; may be called any number of times, one turn after another.
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const uint64_t turn = turn_;
    if (++arrived_ == count_) {
      arrived_ = 0;
      turn_++;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(lock, [&] { return turn_ != turn; });
  }

 private:
  const unsigned count_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  unsigned arrived_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace spdld::test
