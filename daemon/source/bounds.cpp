#include "daemon/source/bounds.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "daemon/base/result.h"

namespace spdld::source {

Bounds::Bounds(const std::vector<std::filesystem::path>& folders) {
  for (const auto& folder : folders) {
    std::error_code error;
    std::string real = std::filesystem::canonical(folder, error).string();
    if (error) continue;  // nothing lies in a folder that is not there
    if (real.back() != '/') real += '/';
    folders_.push_back(std::move(real));
  }
}

bool Bounds::holds(int fd) const {
  std::array<char, 32> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  std::array<char, PATH_MAX> path;
  const ssize_t bytes = ::readlink(link.data(), path.data(), path.size());
  return bytes > 0 && static_cast<size_t>(bytes) < path.size() &&
         holds_real({path.data(), static_cast<size_t>(bytes)});
}

bool Bounds::holds(const std::string& path) const {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  return real && holds_real(real.get());
}

void Bounds::check(const std::string& path) const {
  if (holds(path) || ::access(path.c_str(), F_OK) != 0) return;
  throw SetupError(Trouble::kDenied, path + " leads out of the folders that the pipeline may read.");
}

bool Bounds::holds_real(std::string_view path) const {
  return std::any_of(folders_.begin(), folders_.end(), [path](std::string_view folder) {
    return path.starts_with(folder) || path == folder.substr(0, folder.size() - 1);
  });
}

}  // namespace spdld::source
