// The kernel's account of this process: its threads' CPU time by role, its descriptors, and how long its CPU quota has
// held it back. Each call reads some files below /proc or /sys; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spdld {

// The threads of one role: those with the same name but for a number behind it ("decode-3").
struct RoleUse {
  std::string role;
  uint64_t threads = 0;
  uint64_t cpu_ns = 0;        // of the threads that live
  uint64_t core_wait_ns = 0;  // in which they could have run, and other threads had the cores
};

// In the order of the roles' names. `tasks` is /proc/self/task. The thread that has the process's own name is the role
// "control".
std::vector<RoleUse> own_roles(const std::filesystem::path& tasks = "/proc/self/task");
uint64_t own_descriptors();
// The time for which quotas of this process's cgroups (version 2) have held back its threads; 0: never, or not known.
uint64_t throttled_ns(const std::filesystem::path& root = "/sys/fs/cgroup",
                      const std::filesystem::path& self_cgroup = "/proc/self/cgroup");

}  // namespace spdld
