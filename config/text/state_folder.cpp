#include "config/text/state_folder.h"

#include <cstdlib>
#include <string>

namespace spdld::config {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::filesystem::path default_state_folder() {
  const std::string systemd = variable("CACHE_DIRECTORY");
  if (!systemd.empty()) return systemd.substr(0, systemd.find(':'));
  const std::string xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (xdg.starts_with('/')) return std::filesystem::path(xdg) / "spdld";
  if (home.starts_with('/')) return std::filesystem::path(home) / ".cache" / "spdld";
  return {};
}

}  // namespace spdld::config
