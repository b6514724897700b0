// The checks of `spdlctl doctor` say what is wrong with a node, and what to do. Pure functions of the facts; any
// thread.
#pragma once

#include "client/cli/doctor/facts.h"
#include "client/cli/doctor/finding.h"

namespace spdld::cli::doctor {

// The node: kernel, limits of the process, memory, clock, GPUs.
Findings check_node(const Facts& facts);
// The settings file, and the things that it names: folders, the socket, the service.
Findings check_settings(const Facts& facts);
// The servers of remote stores.
Findings check_endpoints(const Facts& facts);
// The daemon that runs, by its own status.
Findings check_daemon(const Facts& facts);

// All of them.
Findings examine(const Facts& facts);

}  // namespace spdld::cli::doctor
