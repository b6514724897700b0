// Clocks, thread names, and how many cores this process may use. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace spdld {

uint64_t monotonic_ns();
uint64_t thread_cpu_ns();   // of the calling thread
uint64_t process_cpu_ns();  // user and system, all threads

// "decode-3", as top and gdb show it (15 bytes at most).
void name_thread(std::string_view what, unsigned index);

struct CpuLimit {
  unsigned cores = 1;
  std::string_view limited_by = "machine";  // "machine", "affinity" or "cgroup"
};

// The least of what the machine has, this process's affinity allows, and cgroup v2's cpu.max grants (rounded up),
// looked up from its own cgroup to the root. `cgroup_root` and `self_cgroup` are for tests.
CpuLimit usable_cores(const std::filesystem::path& cgroup_root = "/sys/fs/cgroup",
                      const std::filesystem::path& self_cgroup = "/proc/self/cgroup");

// This process's proportional set size (/proc/self/smaps_rollup); 0 where it can't be read.
uint64_t own_pss_bytes();

}  // namespace spdld
