// The CPU time that one piece of work on a sample may take. For the thread that works.
#pragma once

#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"

namespace spdld::media {

inline constexpr char kTooMuchCpuTime[] =
    "decoding it takes more CPU time than the operator's limit (limits.sample_ms_max)";

// Begins when it is made. A look at it is a system call.
class CpuBudget {
 public:
  explicit CpuBudget(const DecodeLimits& limits)
      : cpu_ns_(limits.cpu_ns),
        ends_at_ns_(limits.cpu_ms_max == 0 ? UINT64_MAX : limits.cpu_ns() + limits.cpu_ms_max * 1'000'000) {}

  bool is_spent() const { return ends_at_ns_ != UINT64_MAX && cpu_ns_() > ends_at_ns_; }
  // kContent: it is spent.
  Status check() const {
    if (is_spent()) return Error{Trouble::kContent, kTooMuchCpuTime};
    return Done{};
  }

 private:
  uint64_t (*cpu_ns_)();
  uint64_t ends_at_ns_;
};

}  // namespace spdld::media
