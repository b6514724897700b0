#include "daemon/source/parts.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/system/memory_charge.h"

namespace spdld::source {
namespace {

// Above the cores of a small machine: most of a listing is waiting for the file system.
constexpr uint64_t kThreads = 8;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

class PartWorkers {
 public:
  PartWorkers(uint64_t count, const std::function<void(uint64_t)>& part) : count_(count), part_(part) {}

  void work() {
    for (uint64_t i = next_++; i < count_ && !failed_; i = next_++) {
      try {
        part_(i);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!error_ || i < error_part_) {
          error_ = std::current_exception();
          error_part_ = i;
        }
        failed_ = true;
      }
    }
    const std::scoped_lock lock(mutex_);
    ++left_;
    changed_.notify_one();
  }

  // True when `threads` threads have left; false after a while.
  bool wait(uint64_t threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kProgressEvery, [&] { return left_ == threads; });
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const uint64_t count_;
  const std::function<void(uint64_t)>& part_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t left_ = 0;         // under mutex_, as the following
  std::exception_ptr error_;  // of the lowest part that threw
  uint64_t error_part_ = 0;
};

}  // namespace

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw SetupError(Trouble::kStopping, "the listing was stopped before its end.");
}

void run_parts(uint64_t count, const std::function<void(uint64_t)>& part, const Amount& amount,
               const Progress& progress, const std::stop_token& stop) {
  check_stop(stop);
  PartWorkers parts(count, part);
  const uint64_t thread_count = std::min(kThreads, count);
  {
    std::vector<std::jthread> threads;
    MemoryCharge* const charge = MemoryCharge::of_this_thread();
    for (uint64_t i = 0; i < thread_count; ++i)
      threads.emplace_back([&parts, charge] {
        const MemoryCharge::Scope scope(charge);
        parts.work();
      });
    while (!parts.wait(thread_count)) {
      if (progress) progress(amount.what, amount.done, amount.total);
    }
  }
  parts.rethrow();
  check_stop(stop);
  if (progress) progress(amount.what, amount.done, amount.total);
}

}  // namespace spdld::source
