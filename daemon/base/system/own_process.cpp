#include "daemon/base/system/own_process.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "daemon/base/system/cgroup.h"

namespace spdld {
namespace {

constexpr size_t kRolesMax = 64;

// "decode-3" is "decode".
std::string role_of(std::string name, const std::string& own_name) {
  if (name == own_name) return "control";
  const size_t end = name.find_last_not_of("0123456789");
  if (end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '-') name.resize(end);
  return name;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::vector<RoleUse> own_roles(const std::filesystem::path& tasks) {
  std::map<std::string, RoleUse> roles;
  const std::string own_name = first_line(tasks.parent_path() / "comm");
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    const std::string name = first_line(task.path() / "comm");
    uint64_t cpu_ns = 0, core_wait_ns = 0;
    std::ifstream file(task.path() / "schedstat");  // "time on a core, time in the queue for one, turns"
    if (name.empty() || !(file >> cpu_ns >> core_wait_ns)) continue;  // the thread has just ended
    const std::string role = role_of(name, own_name);
    if (roles.size() == kRolesMax && !roles.contains(role)) continue;
    RoleUse& use = roles[role];
    use.role = role;
    use.threads++;
    use.cpu_ns += cpu_ns;
    use.core_wait_ns += core_wait_ns;
  }
  std::vector<RoleUse> list;
  for (auto& [role, use] : roles) list.push_back(std::move(use));
  return list;
}

uint64_t own_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator first("/proc/self/fd", error);
  if (error) return 0;
  const auto all = std::distance(begin(first), end(first));
  return static_cast<uint64_t>(std::max<std::ptrdiff_t>(all - 1, 0));  // without the look's own descriptor
}

uint64_t throttled_ns(const std::filesystem::path& root, const std::filesystem::path& self_cgroup) {
  uint64_t longest_us = 0;  // a group's threads wait for the tightest of its groups
  for (const auto& folder : cgroup_folders(root, self_cgroup, "cpu").v2) {
    std::ifstream file(folder / "cpu.stat");
    std::string key;
    for (uint64_t value = 0; file >> key >> value;)
      if (key == "throttled_usec") longest_us = std::max(longest_us, value);
  }
  return longest_us * 1000;
}

}  // namespace spdld
