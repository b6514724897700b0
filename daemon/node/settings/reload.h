// The changes that a settings file makes in a running daemon when it is read anew. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "config/daemon_settings.h"

namespace spdld::node {

// `read`, except the settings from which the threads, the socket, the cache and the GPUs were made: they stay as in
// `running`.
config::DaemonSettings reloaded(const config::DaemonSettings& running, config::DaemonSettings read);

// The keys whose values in the file have changed since the start, and which take effect only with a restart:
// "socket.path".
std::vector<std::string> keys_that_wait(const config::DaemonSettings& started, const config::DaemonSettings& read);

}  // namespace spdld::node
