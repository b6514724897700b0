// A moment until which a call may wait, and the waiting itself. A signal ends every wait.
#pragma once

#include <chrono>
#include <cstdint>

namespace spdld::client {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) : at_(at) {}
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  // Negative, or beyond a year: never.
  static Deadline after_ms(int64_t ms) {
    constexpr int64_t kYear_ms = int64_t{365} * 24 * 3600 * 1000;
    if (ms < 0 || ms > kYear_ms) return never();
    return Deadline(Clock::now() + std::chrono::milliseconds(ms));
  }

  bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  Clock::time_point at() const { return at_; }
  Deadline or_earlier(Deadline other) const { return at_ <= other.at_ ? *this : other; }

 private:
  Clock::time_point at_;
};

// Whether the calling thread is the process's first thread, or its only thread.
bool is_main_thread();
bool is_only_thread();

enum class Wake : uint8_t { kReady, kTimeout, kSignal };

// Waits until `fd` has one of poll's `events` (or has failed); fd -1: waits until the deadline alone.
Wake wait_for(int fd, short events, Deadline deadline);

}  // namespace spdld::client
