// Paths of the operator's that a client must not see, kept out of the sentences that it gets. Any thread.
#pragma once

#include <string>
#include <vector>

namespace spdld::control {

class HiddenPaths {
 public:
  HiddenPaths() = default;
  // Paths of fewer than two characters are left out: "/" stands in every path.
  explicit HiddenPaths(std::vector<std::string> paths);
  // The text with "..." in the place of each path.
  std::string shown(std::string text) const;

 private:
  std::vector<std::string> paths_;  // the longest first: one may begin another
};

}  // namespace spdld::control
