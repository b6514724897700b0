// What a settings file that is read anew changes in a running daemon. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "config/daemon_settings.h"

namespace spdld::node {

// `read`, but for what the threads, the socket, the cache and the GPUs were made from: that stays as it is `running`.
config::DaemonSettings reloaded(const config::DaemonSettings& running, config::DaemonSettings read);

// The keys that differ in the file from what it said at the start, and take effect with a restart: "socket.path".
std::vector<std::string> keys_that_wait(const config::DaemonSettings& started, const config::DaemonSettings& read);

}  // namespace spdld::node
