// A rate with a burst (a token bucket). An amount is taken after the fact, so that an allowance may be overdrawn;
// it gives nothing then until the debt is paid. The debt is at most kDebtMax bursts: old excesses are forgiven. Times
// are the caller's, in ns, and never go back. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "daemon/base/system/cpu.h"

namespace spdld {

class Allowance {
 public:
  static constexpr double kDebtMax = 4;
  // `per_s`: how much comes in a second; `burst`: the most that gathers, which is there at the start.
  Allowance(double per_s, double burst) : per_s_(per_s), burst_(burst), left_(burst) {}

  void set(double per_s, double burst) {
    per_s_ = per_s;
    burst_ = burst;
    left_ = std::min(left_, burst_);
  }
  void take(double amount, uint64_t now_ns) {
    refill(now_ns);
    left_ = std::max(left_ - amount, -kDebtMax * burst_);
  }
  // How long to wait until `amount` is there; 0: it is there.
  uint64_t wait_ns(double amount, uint64_t now_ns) {
    refill(now_ns);
    if (left_ >= amount) return 0;
    if (per_s_ <= 0 || amount > burst_) return std::numeric_limits<uint64_t>::max();
    return static_cast<uint64_t>((amount - left_) / per_s_ * 1e9) + 1;
  }
  bool is_whole(uint64_t now_ns) {
    refill(now_ns);
    return left_ >= burst_;
  }

 private:
  void refill(uint64_t now_ns) {
    if (now_ns > looked_ns_ && looked_ns_) left_ += seconds(now_ns - looked_ns_) * per_s_;
    left_ = std::min(left_, burst_);
    looked_ns_ = std::max(looked_ns_, now_ns);
  }

  double per_s_, burst_, left_;
  uint64_t looked_ns_ = 0;
};

}  // namespace spdld
