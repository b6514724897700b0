#include "daemon/node/places.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace spdld::node {
namespace {

std::filesystem::path own_cgroup(const std::filesystem::path& self_cgroup) {
  std::ifstream file(self_cgroup);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

uint64_t limit_in(const std::filesystem::path& group) {
  std::ifstream file(group / "memory.max");
  uint64_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<uint64_t>::max();  // "max", or no such file
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

uint64_t usable_memory_bytes(const std::filesystem::path& cgroup_root, const std::filesystem::path& self_cgroup) {
  struct sysinfo machine {};
  // Not /proc/meminfo, which a hardened unit hides.
  if (sysinfo(&machine) != 0) return 0;
  uint64_t bytes = uint64_t{machine.totalram} * machine.mem_unit;
  for (std::filesystem::path group = own_cgroup(self_cgroup);; group = group.parent_path()) {
    bytes = std::min(bytes, limit_in(cgroup_root / group));
    if (!group.has_relative_path()) return bytes;
  }
}

uint64_t cache_bytes_max(const config::DaemonSettings& settings, uint64_t usable_bytes) {
  return settings.cache_ram_bytes_max.value_or(usable_bytes / 4);
}

std::filesystem::path state_folder(const config::DaemonSettings& settings) {
  if (!settings.state_kept) return {};
  if (!settings.state_folder.empty()) return settings.state_folder;
  const std::string systemd = variable("CACHE_DIRECTORY");
  if (!systemd.empty()) return systemd.substr(0, systemd.find(':'));
  const std::string xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (xdg.starts_with('/')) return std::filesystem::path(xdg) / "spdld";
  if (home.starts_with('/')) return std::filesystem::path(home) / ".cache" / "spdld";
  return {};
}

}  // namespace spdld::node
