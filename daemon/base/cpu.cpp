#include "daemon/base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace spdld {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// The path after "0::" in /proc/self/cgroup: this process's group in the unified hierarchy.
std::string own_group(const std::filesystem::path& self_cgroup) {
  std::ifstream file(self_cgroup);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

// cpu.max holds "QUOTA PERIOD" in microseconds, or "max PERIOD" (Documentation/admin-guide/cgroup-v2.rst).
double granted_cores(const std::filesystem::path& cpu_max) {
  std::ifstream file(cpu_max);
  double quota_us = 0, period_us = 0;
  if (!(file >> quota_us >> period_us) || period_us <= 0) return 0;
  return quota_us / period_us;
}

}  // namespace

uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void name_thread(std::string_view what, unsigned index) {
  const std::string name = (std::string(what) + "-" + std::to_string(index)).substr(0, 15);
  pthread_setname_np(pthread_self(), name.c_str());
}

CpuLimit usable_cores(const std::filesystem::path& cgroup_root, const std::filesystem::path& self_cgroup) {
  CpuLimit limit{std::max(std::thread::hardware_concurrency(), 1u), "machine"};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    const auto count = static_cast<unsigned>(CPU_COUNT(&allowed));
    if (count > 0 && count < limit.cores) limit = {count, "affinity"};
  }
  std::filesystem::path group = own_group(self_cgroup);
  for (int level = 0; level < 32; level++) {
    const double cores = granted_cores(cgroup_root / group / "cpu.max");
    if (cores > 0 && std::ceil(cores) < limit.cores)
      limit = {static_cast<unsigned>(std::max(std::ceil(cores), 1.0)), "cgroup"};
    if (group.empty()) break;
    group = group.parent_path();
  }
  return limit;
}

uint64_t own_pss_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10) * 1024;
  return 0;
}

}  // namespace spdld
