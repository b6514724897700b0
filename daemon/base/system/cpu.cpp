#include "daemon/base/system/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "daemon/base/system/cgroup.h"

namespace spdld {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// cpu.max holds "QUOTA PERIOD" in microseconds, or "max PERIOD" (Documentation/admin-guide/cgroup-v2.rst).
double granted_cores(const std::filesystem::path& cpu_max) {
  std::ifstream file(cpu_max);
  double quota_us = 0, period_us = 0;
  if (!(file >> quota_us >> period_us) || period_us <= 0) return 0;
  return quota_us / period_us;
}

// Version 1 has a file for each of the two, and a quota of -1 for none (Documentation/scheduler/sched-bwc.rst).
double granted_cores_v1(const std::filesystem::path& group) {
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  double quota_us = 0, period_us = 0;
  if (!(quota >> quota_us) || !(period >> period_us) || quota_us <= 0 || period_us <= 0) return 0;
  return quota_us / period_us;
}

// The least that any group grants, from this process's own to the root; 0: no limit.
double least_grant(const CpuPaths& paths) {
  const CgroupFolders folders = cgroup_folders(paths.cgroup_root, paths.self_cgroup, "cpu");
  double least = 0;
  const auto bound_by = [&least](double cores) {
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  };
  for (const auto& group : folders.v2) bound_by(granted_cores(group / "cpu.max"));
  for (const auto& group : folders.v1) bound_by(granted_cores_v1(group));
  return least;
}

std::optional<cpu_set_t> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  return allowed;
}

// nodeN/cpulist holds the node's cores as a list (Documentation/ABI/stable/sysfs-devices-node).
std::vector<unsigned> nodes_of(const cpu_set_t& allowed, const std::filesystem::path& folder) {
  std::vector<unsigned> nodes;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    unsigned node = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with("node") || std::from_chars(name.data() + 4, end, node).ptr != end || name.size() == 4)
      continue;
    std::string list;
    std::ifstream file(entry->path() / "cpulist");
    std::getline(file, list);
    const auto cores = parse_cpu_list(list);
    if (std::any_of(cores.begin(), cores.end(), [&](unsigned core) { return CPU_ISSET(core, &allowed); }))
      nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes.empty() ? std::vector<unsigned>{0} : nodes;
}

}  // namespace

uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void name_thread(std::string_view what, unsigned index) {
  const std::string name = (std::string(what) + "-" + std::to_string(index)).substr(0, 15);
  pthread_setname_np(pthread_self(), name.c_str());
}

CpuLimit usable_cores(const CpuPaths& paths) {
  CpuLimit limit;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  limit.machine = limit.affinity = static_cast<unsigned>(std::max(online, 1l));
  if (const auto allowed = allowed_cpus()) {
    limit.affinity = static_cast<unsigned>(std::max(CPU_COUNT(&*allowed), 1));
    limit.numa_nodes = nodes_of(*allowed, paths.nodes);
  }
  limit.cores = limit.machine;
  if (limit.affinity < limit.cores) {
    limit.cores = limit.affinity;
    limit.limited_by = "affinity";
  }
  limit.cgroup_quota = least_grant(paths);
  if (limit.cgroup_quota > 0 && std::ceil(limit.cgroup_quota) < limit.cores) {
    limit.cores = static_cast<unsigned>(std::max(std::ceil(limit.cgroup_quota), 1.0));
    limit.limited_by = "cgroup";
  }
  return limit;
}

std::string text_of(const CpuLimit& limit) {
  std::string text = std::to_string(limit.cores) + (limit.cores == 1 ? " core" : " cores") + " (machine " +
                     std::to_string(limit.machine) + ", affinity " + std::to_string(limit.affinity);
  if (limit.cgroup_quota > 0) {
    char quota[32];
    std::snprintf(quota, sizeof quota, "%.4g", limit.cgroup_quota);
    text += std::string(", cgroup ") + quota;
  }
  text += limit.numa_nodes.size() == 1 ? "), NUMA node " : "), NUMA nodes ";
  const auto& nodes = limit.numa_nodes;
  for (size_t i = 0; i < nodes.size();) {
    size_t last = i;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) last++;
    text += (i ? "," : "") + std::to_string(nodes[i]) + (last > i ? "-" + std::to_string(nodes[last]) : "");
    i = last + 1;
  }
  return text;
}

std::vector<unsigned> parse_cpu_list(std::string_view text) {
  constexpr unsigned kNumberMax = 65535;
  std::vector<unsigned> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    unsigned first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    last = first;
    bool sound = read.ec == std::errc();
    if (sound && read.ptr < end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      sound = read.ec == std::errc();
    }
    if (sound && first <= last && last <= kNumberMax)
      for (unsigned number = first; number <= last; number++) numbers.push_back(number);
    at = std::find(read.ptr, end, ',');
    if (at < end) at++;
  }
  return numbers;
}

uint64_t own_pss_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10) * 1024;
  return 0;
}

}  // namespace spdld
