// The folder of files that outlive a daemon, where its settings name none. The daemon writes there, and spdlctl reads
// what a private daemon has left there. Any thread that does not change the environment.
#pragma once

#include <filesystem>
#include <string_view>

namespace spdld::config {

// $CACHE_DIRECTORY (systemd gives it), $XDG_CACHE_HOME/spdld or ~/.cache/spdld. Empty: there is no such place.
std::filesystem::path default_state_folder();

// A file in the state folder. The last private daemon that had errors left its `errors` document there, with `daemon`,
// `pid` and `written`, a moment.
inline constexpr std::string_view kLastErrorsFile = "last-errors.json";

}  // namespace spdld::config
