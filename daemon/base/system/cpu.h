// Clocks, thread names, and how many cores this process may use. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace spdld {

uint64_t monotonic_ns();
inline double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }
uint64_t thread_cpu_ns();   // of the calling thread
uint64_t process_cpu_ns();  // user and system, all threads

// "decode-3", as top and gdb show it (15 bytes at most).
void name_thread(std::string_view what, unsigned index);

// The cores that this process may use, and the cause of that limit.
struct CpuLimit {
  unsigned cores = 1;                       // the least of the following, at least 1
  std::string_view limited_by = "machine";  // "machine", "affinity" or "cgroup"
  unsigned machine = 1;                     // cores that are online
  unsigned affinity = 1;                    // online cores that this process may be put on
  double cgroup_quota = 0;                  // cores that the cgroups grant, maybe a fraction; 0: no limit
  std::vector<unsigned> numa_nodes = {0};   // nodes of the cores in the affinity, ascending
};

// The kernel's files for CpuLimit; other paths are for tests.
struct CpuPaths {
  std::filesystem::path cgroup_root = "/sys/fs/cgroup";
  std::filesystem::path self_cgroup = "/proc/self/cgroup";
  std::filesystem::path nodes = "/sys/devices/system/node";  // nodeN/cpulist; none: one node
};

// The least of what the machine has, this process's affinity allows, and its cgroups grant (rounded up): cpu.max of
// version 2, cpu.cfs_quota_us of version 1, from its own cgroup to the root.
CpuLimit usable_cores(const CpuPaths& paths = {});

// For people: "2 cores (machine 64, affinity 8, cgroup 1.5), NUMA nodes 0-1".
std::string text_of(const CpuLimit& limit);

// The kernel's lists: "0-3,8" is 0, 1, 2, 3, 8. Unreadable parts are left out. Bounded: numbers below 65536.
std::vector<unsigned> parse_cpu_list(std::string_view text);

// This process's proportional set size (/proc/self/smaps_rollup); 0 where it can't be read.
uint64_t own_pss_bytes();

}  // namespace spdld
