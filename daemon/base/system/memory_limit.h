// The memory that this process may use: what the machine has, and what its cgroups grant, of version 2 (memory.max,
// memory.high) and of version 1 (memory.limit_in_bytes). Each call reads some files below /sys and /proc; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spdld {

// Where the limits are looked up; tests have files of their own.
struct MemoryPaths {
  std::filesystem::path cgroup_root = "/sys/fs/cgroup";
  std::filesystem::path self_cgroup = "/proc/self/cgroup";
  std::filesystem::path self_statm = "/proc/self/statm";
};

// One limit that holds for this process.
struct MemoryLimit {
  uint64_t bytes = 0;       // all that may be used
  uint64_t used_bytes = 0;  // by all processes that share the limit; without copies of files, which the kernel drops
  std::string name;         // for people: "the machine has", "/sys/fs/cgroup/spdld.slice/memory.max grants"

  uint64_t left_bytes() const { return bytes - (used_bytes < bytes ? used_bytes : bytes); }
};

// Every limit that holds, the machine's first. The machine's other processes are not known: there, `used_bytes` is what
// this process has in memory.
std::vector<MemoryLimit> memory_limits(const MemoryPaths& paths = {});

// The smallest number of bytes that a limit of memory_limits() has; what processes use already is not taken off. 0: the
// kernel tells no limit.
uint64_t usable_memory_bytes(const MemoryPaths& paths = {});

}  // namespace spdld
