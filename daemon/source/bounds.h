// The folders below which the files of a data set must lie, whatever links lead to them. Used for specs of users to
// whom the operator opened these folders, since the daemon may read more than these users may. Constant; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::source {

class Bounds {
 public:
  // Links in the folders' own paths are followed once, here.
  explicit Bounds(const std::vector<std::filesystem::path>& folders);

  // Whether this open file or folder lies there. Only this check is final: a path may lead elsewhere a moment later.
  bool holds(int fd) const;
  // Whether the path leads there now; for files that are only looked at, or opened later.
  bool holds(const std::string& path) const;
  // Throws SetupError (kDenied) where the path leads out of the folders. A path that leads nowhere passes.
  void check(const std::string& path) const;

 private:
  bool holds_real(std::string_view path) const;

  std::vector<std::string> folders_;  // real paths, each ending in '/'
};

}  // namespace spdld::source
