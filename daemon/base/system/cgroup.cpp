#include "daemon/base/system/cgroup.h"

#include <fstream>
#include <string>

namespace spdld {
namespace {

constexpr int kLevelsMax = 32;

void add_upwards(std::vector<std::filesystem::path>& folders, const std::filesystem::path& hierarchy,
                 std::filesystem::path group) {
  for (int level = 0; level < kLevelsMax; level++) {
    folders.push_back(group.empty() ? hierarchy : hierarchy / group);
    if (group.empty()) return;
    group = group.parent_path();
  }
}

bool names(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

// A line is "0::/group" for version 2, and "NUMBER:CONTROLLER,CONTROLLER:/group" for version 1, whose hierarchy is
// mounted under the controllers' names (proc(5), cgroups(7)).
CgroupFolders cgroup_folders(const std::filesystem::path& root, const std::filesystem::path& self_cgroup,
                             std::string_view controller) {
  CgroupFolders folders;
  std::ifstream file(self_cgroup);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line.substr(second + 1, 1) != "/") continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 2);
    if (line.starts_with("0::")) {
      add_upwards(folders.v2, root, group);
    } else if (names(controllers, controller)) {
      add_upwards(folders.v1, root / controller, group);
      if (controllers != controller) add_upwards(folders.v1, root / controllers, group);
    }
  }
  if (folders.v2.empty()) folders.v2.push_back(root);
  return folders;
}

}  // namespace spdld
