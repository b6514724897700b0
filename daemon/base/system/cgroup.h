// The limits of this process's cgroups, of version 2 and of version 1. Any thread.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace spdld {

struct CgroupFolders {
  std::vector<std::filesystem::path> v2, v1;
};

// The folders whose limits hold for this process, from its own group to the root, for a controller of version 1 such as
// "memory" and for version 2. Folders may not exist: in a container, the kernel may name groups that only the host
// sees. `root` is /sys/fs/cgroup, `self_cgroup` /proc/self/cgroup.
CgroupFolders cgroup_folders(const std::filesystem::path& root, const std::filesystem::path& self_cgroup,
                             std::string_view controller);

}  // namespace spdld
