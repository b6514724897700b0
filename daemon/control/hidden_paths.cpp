#include "daemon/control/hidden_paths.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace spdld::control {

HiddenPaths::HiddenPaths(std::vector<std::string> paths) : paths_(std::move(paths)) {
  std::erase_if(paths_, [](const std::string& path) { return path.size() < 2; });
  std::sort(paths_.begin(), paths_.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string HiddenPaths::shown(std::string text) const {
  constexpr std::string_view kShown = "...";
  for (const std::string& path : paths_)
    for (size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += kShown.size())
      text.replace(at, path.size(), kShown);
  return text;
}

}  // namespace spdld::control
