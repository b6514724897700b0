// What other threads leave for the set-up thread: a word that there is something to do, and GPU memory to be freed. It
// outlives that thread: what comes later is freed by who brings it. Any thread; nothing here blocks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace spdld::memory {

class DeviceAllocation;

class Inbox {
 public:
  using Clock = std::chrono::steady_clock;
  using Returned = std::vector<std::unique_ptr<DeviceAllocation>>;

  void wake();
  void give(std::unique_ptr<DeviceAllocation> allocation);

  // Set-up thread. Waits for a wake(), memory, or `until`; returns the memory.
  Returned wait(std::optional<Clock::time_point> until);
  // Its last act.
  Returned close();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_woken_ = false, is_closed_ = false;  // guarded by mutex_
  Returned returned_;                          // at most as many as there are slots
};

}  // namespace spdld::memory
