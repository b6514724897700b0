// The rules by which a store is asked now, later, or a second time. Pure: the time and the chance are given. One thread
// at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/base/statistics.h"
#include "daemon/store/http/endpoint_limits.h"

namespace spdld::store::http {

// At most so many units a second, with a second's worth in advance. The number of bytes is known only
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
    if (is_new_) units_ = most, at_ns_ = now_ns, is_new_ = false;
    units_ = std::min(most, units_ + most * static_cast<double>(now_ns - std::min(now_ns, at_ns_)) * 1e-9);
    at_ns_ = std::max(at_ns_, now_ns);
  }

  const uint64_t per_s_max_;
  bool is_new_ = true;
  double units_ = 0;
  uint64_t at_ns_ = 0;
};

// "Exponential backoff and full jitter" (M. Brooker, AWS Architecture Blog, 2015): how long to wait after `failures`
// attempts, 1 at least. `chance` is uniform in [0, 1).
inline uint64_t backoff_ns(const Limits& limits, uint32_t failures, double chance) {
  const uint32_t doublings = std::min(failures - 1, 20u);
  const uint64_t bound_ms =
      std::min<uint64_t>(uint64_t{limits.backoff_ms} << doublings, std::max(limits.backoff_ms_max, limits.backoff_ms));
  return static_cast<uint64_t>(static_cast<double>(bound_ms) * chance * 1e6);
}

// The seconds of a Retry-After header (RFC 9110, section 10.2.3), as a number or as a date; none: it is neither.
// `unix_s`: the time now.
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
