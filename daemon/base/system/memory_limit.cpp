#include "daemon/base/system/memory_limit.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "daemon/base/system/cgroup.h"

namespace spdld {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr int kStatLinesMax = 256;  // memory.stat has some 60

// None: the kernel does not tell.
std::optional<uint64_t> machine_bytes() {
  struct sysinfo machine {};
  // Not /proc/meminfo, which a hardened unit hides.
  if (sysinfo(&machine) != 0) return std::nullopt;
  return uint64_t{machine.totalram} * machine.mem_unit;
}

std::optional<uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  uint64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;  // "max", or no such file
}

// The sum of these entries of a memory.stat.
uint64_t sum_in(const std::filesystem::path& stat, std::initializer_list<std::string_view> wanted) {
  std::ifstream file(stat);
  uint64_t sum = 0, value = 0;
  std::string key;
  for (int line = 0; line < kStatLinesMax && file >> key >> value; line++)
    if (std::find(wanted.begin(), wanted.end(), key) != wanted.end()) sum += value;
  return sum;
}

// Resident pages of this process, also of memory that it shares.
uint64_t own_bytes(const std::filesystem::path& statm) {
  std::ifstream file(statm);
  uint64_t size = 0, resident = 0;
  return file >> size >> resident ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// The memory of a group that the kernel cannot drop. Shared memory is not on the lists of files
// (Documentation/admin-guide/cgroup-v2.rst).
uint64_t used_in(const std::filesystem::path& usage, const std::filesystem::path& stat,
                 std::initializer_list<std::string_view> files, uint64_t own) {
  const auto used = number_in(usage);
  if (!used) return own;
  return *used - std::min(*used, sum_in(stat, files));
}

void add_limit(std::vector<MemoryLimit>& limits, uint64_t used, const std::filesystem::path& file) {
  const auto bytes = number_in(file);
  if (bytes) limits.push_back({*bytes, used, file.string() + " grants"});
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const MemoryPaths& paths) {
  const uint64_t own = own_bytes(paths.self_statm);
  std::vector<MemoryLimit> limits;
  limits.push_back({machine_bytes().value_or(kNoLimit), own, "the machine has"});
  const CgroupFolders folders = cgroup_folders(paths.cgroup_root, paths.self_cgroup, "memory");
  for (const auto& group : folders.v2) {
    const uint64_t used = used_in(group / "memory.current", group / "memory.stat",
                                  {"inactive_file", "active_file", "slab_reclaimable"}, own);
    add_limit(limits, used, group / "memory.max");
    add_limit(limits, used, group / "memory.high");  // above, the kernel slows the group down until nothing moves
  }
  for (const auto& group : folders.v1) {
    const uint64_t used = used_in(group / "memory.usage_in_bytes", group / "memory.stat",
                                  {"total_inactive_file", "total_active_file"}, own);
    add_limit(limits, used, group / "memory.limit_in_bytes");
  }
  return limits;
}

uint64_t usable_memory_bytes(const MemoryPaths& paths) {
  uint64_t bytes = kNoLimit;
  for (const MemoryLimit& limit : memory_limits(paths)) bytes = std::min(bytes, limit.bytes);
  return bytes == kNoLimit ? 0 : bytes;
}

}  // namespace spdld
