// The clocks that `spdlctl bench` measures by. Any thread.
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace spdld::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point moment) {
  return std::chrono::duration<double>(Clock::now() - moment).count();
}

// The CPU time that this process has used, with the kernel's for it.
inline double own_cpu_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace spdld::cli
