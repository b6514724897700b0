// Gathers the facts of this node. One thread; takes up to half a minute where file systems, servers or the driver hang.
#pragma once

#include <string>

#include "client/cli/cli.h"
#include "client/cli/doctor/facts.h"

namespace spdld::cli::doctor {

// `settings_file`: the daemon's file.
Facts gather(const Globals& globals, const std::string& settings_file);

}  // namespace spdld::cli::doctor
