// How long a call from Python may wait; None: without end. Waiting is done in short slices, since a signal that arrives
// between two system calls, or on another thread, interrupts nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "client/python/src/errors.h"

namespace spdld::python {

inline constexpr int64_t kSlice_ms = 200;
inline constexpr double kEndless_s = 365.0 * 24 * 3600;  // from here on a wait has no end

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(std::optional<double> timeout_s) {
    if (!timeout_s || *timeout_s >= kEndless_s) return;
    if (!(*timeout_s >= 0)) raise(SPDLD_INVALID, "a time-out is a number of seconds from 0, or None");
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout_s));
  }

  bool has_ended() const { return end_ && Clock::now() >= *end_; }
  // -1: without end; else rounded up, so that a wait of this length does not end early.
  int64_t left_ms() const {
    if (!end_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now()).count();
    return std::max<int64_t>(0, left);
  }
  int64_t slice_ms() const { return end_ ? std::min(kSlice_ms, left_ms()) : kSlice_ms; }

 private:
  std::optional<Clock::time_point> end_;
};

}  // namespace spdld::python
