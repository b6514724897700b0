// The set-up thread's inbox: other threads wake the thread, or leave GPU memory to be freed. The inbox outlives that
// thread; a thread that brings memory later frees it itself. Any thread; nothing here blocks.
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

  // Set-up thread. Waits for a wake(), for memory, or until `until`; returns the memory.
  Returned wait(std::optional<Clock::time_point> until);
  // The set-up thread's last call.
  Returned close();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_woken_ = false, is_closed_ = false;  // guarded by mutex_
  Returned returned_;                          // at most as many as there are slots
};

}  // namespace spdld::memory
