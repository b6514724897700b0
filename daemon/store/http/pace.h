// The rules by which a store is asked now, later, or a second time. Pure: the time and the chance are given. One thread
// at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"
#include "daemon/store/http/endpoint_limits.h"

namespace spdld::store::http {

// At most a number of units a second, with a second's worth in advance. The number of bytes is known only
// afterwards, so that an allowance may go below nothing; then there is a wait.
class Allowance {
 public:
  explicit Allowance(uint64_t per_s_max) : per_s_max_(per_s_max) {}

  void take(uint64_t units, uint64_t now_ns) {
    if (per_s_max_ == 0) return;
    refill(now_ns);
    units_ -= static_cast<double>(units);
  }
  // How long there is nothing to take; 0: there is something.
  uint64_t wait_ns(uint64_t now_ns) {
    if (per_s_max_ == 0) return 0;
    refill(now_ns);
    if (units_ >= 1) return 0;
    return static_cast<uint64_t>((1 - units_) / static_cast<double>(per_s_max_) * 1e9) + 1;
  }

 private:
  void refill(uint64_t now_ns) {
    const auto most = static_cast<double>(per_s_max_);
    if (is_new_) {
      units_ = most;
      at_ns_ = now_ns;
      is_new_ = false;
    }
    units_ = std::min(most, units_ + most * seconds(now_ns - std::min(now_ns, at_ns_)));
    at_ns_ = std::max(at_ns_, now_ns);
  }

  const uint64_t per_s_max_;
  bool is_new_ = true;
  double units_ = 0;
  uint64_t at_ns_ = 0;
};

// The longest pause, doubled so often.
inline double backoff_max_ns(const Limits& limits, uint32_t doublings) {
  const uint64_t max_ms = std::min<uint64_t>(uint64_t{limits.backoff_ms} << std::min(doublings, 20u),
                                             std::max(limits.backoff_ms_max, limits.backoff_ms));
  return static_cast<double>(max_ms) * 1e6;
}

// "Exponential backoff and full jitter" (M. Brooker, AWS Architecture Blog, 2015): how long to wait after `failures`
// attempts, 1 at least. `chance` is uniform in [0, 1).
inline uint64_t backoff_ns(const Limits& limits, uint32_t failures, double chance) {
  return static_cast<uint64_t>(backoff_max_ns(limits, failures - 1) * chance);
}

// How often an endpoint is asked that gives nothing but failures, however many requests wait for it: at a rate that
// falls with each failure. The first answer ends that.
class Setbacks {
 public:
  // So many failures without an answer between them, over so long a time, and the endpoint counts as failing.
  static constexpr uint32_t kFailuresMin = 8;
  static constexpr uint64_t kFailingNs = 1'000'000'000;

  explicit Setbacks(const Limits& limits) : limits_(limits) {}

  bool is_failing() const { return steps_ > 0; }
  // How long no attempt may begin.
  uint64_t wait_ns(uint64_t now_ns) const { return next_ns_ > now_ns ? next_ns_ - now_ns : 0; }
  // An attempt begins. `chance`: as for backoff_ns().
  void on_begin(uint64_t now_ns, double chance) {
    if (is_failing()) next_ns_ = std::max(next_ns_, now_ns + pause_ns(chance));
  }
  void on_answer() {
    failures_ = steps_ = 0;
    next_ns_ = 0;
  }
  // An attempt that began at `started_ns` has failed. True: the endpoint is asked more seldom from now on. Of attempts
  // that ran at the same time, one counts.
  bool on_failure(uint64_t started_ns, uint64_t now_ns, double chance) {
    if (failures_ == 0) first_ns_ = now_ns;
    failures_ = std::min(failures_ + 1, kFailuresMin);
    if (failures_ < kFailuresMin || now_ns - first_ns_ < kFailingNs) return false;
    if (is_failing() && started_ns < step_ns_) return false;
    steps_ = std::min(steps_ + 1, 20u);
    step_ns_ = now_ns;
    on_begin(now_ns, chance);
    return true;
  }

 private:
  // From a half of the longest pause to all of it.
  uint64_t pause_ns(double chance) const {
    return static_cast<uint64_t>(backoff_max_ns(limits_, steps_) * (0.5 + chance / 2));
  }

  const Limits& limits_;
  uint32_t failures_ = 0, steps_ = 0;  // since the last answer
  uint64_t first_ns_ = 0, step_ns_ = 0, next_ns_ = 0;
};

// The seconds of a Retry-After header (RFC 9110, section 10.2.3), as a number or as a date; none: it is neither. A
// number that is too large is the largest one. `unix_s`: the time now.
std::optional<uint64_t> retry_after_s(std::string_view text, int64_t unix_s);

// How long reads of an endpoint take, so that the slowest few are known. The past fades: after each kRecords reads the
// records before count no more.
class Latencies {
 public:
  static constexpr uint64_t kRecords = 1'000, kRecordsMin = 100;

  void record(uint64_t duration_ns) {
    ++now_[Histogram::bucket_of(duration_ns)];
    if (++count_ < kRecords) return;
    before_ = now_;
    has_before_ = true;
    now_ = {};
    count_ = 0;
  }
  // The time that all but `percent` of the reads stay below; none: too few are known.
  std::optional<uint64_t> slowest_ns(double percent) const {
    if (!has_before_ && count_ < kRecordsMin) return {};
    return Histogram::quantile_of(has_before_ ? before_ : now_, 1 - percent / 100);
  }

 private:
  Histogram::Records before_{}, now_{};
  uint64_t count_ = 0;
  bool has_before_ = false;
};

}  // namespace spdld::store::http
