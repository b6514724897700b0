// The CPU time that one piece of work on a sample may take, and whether the work is wanted. For the thread that works.
#pragma once

#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/work_guard.h"

namespace spdld::media {

inline constexpr char kTooMuchCpuTime[] =
    "decoding it takes more CPU time than the operator's limit (limits.sample_ms_max)";

// Begins when it is made. A look at it is a system call, and others may have a turn on the thread meanwhile.
class CpuBudget {
 public:
  explicit CpuBudget(const DecodeLimits& limits)
      : guard_(limits.guard),
        cpu_ns_(limits.cpu_ns),
        ends_at_ns_(limits.cpu_ms_max == 0 ? UINT64_MAX : limits.cpu_ns() + limits.cpu_ms_max * 1'000'000) {}

  // Once nobody wants the work any more, all of it is spent.
  bool is_spent() const {
    if (guard_ != nullptr && !guard_->goes_on()) return true;
    return ends_at_ns_ != UINT64_MAX && cpu_ns_() > ends_at_ns_;
  }
  // kContent: it is spent.
  Status check() const {
    if (is_spent()) return Error{Trouble::kContent, kTooMuchCpuTime};
    return Done{};
  }

 private:
  WorkGuard* guard_;
  uint64_t (*cpu_ns_)();
  uint64_t ends_at_ns_;
};

}  // namespace spdld::media
