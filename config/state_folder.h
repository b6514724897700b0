// Where a daemon keeps what outlives it, where its settings don't say: the daemon writes there, and spdlctl reads there
// what a private daemon has left. Any thread that does not change the environment.
#pragma once

#include <filesystem>
#include <string_view>

namespace spdld::config {

// $CACHE_DIRECTORY (systemd gives it), $XDG_CACHE_HOME/spdld or ~/.cache/spdld. Empty: there is no such place.
std::filesystem::path default_state_folder();

// In the state folder: the document of `errors` as the last private daemon that had any left it, and `daemon`, `pid`
// and `written`, a moment.
inline constexpr std::string_view kLastErrorsFile = "last-errors.json";

}  // namespace spdld::config
