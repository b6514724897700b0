// How many slots a user's rings have, and how many all rings may have. Control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/daemon_settings.h"
#include "daemon/control/service.h"
#include "daemon/control/user_share.h"

namespace spdld::node {

// The sum of one user's rings, with rings that are being made and rings that end.
struct RingUse {
  size_t rings = 0, slots = 0;
  uint64_t host_bytes = 0;
};

// The most slots of all rings: each is an open file, and the other half of the limit is for clients and data.
uint64_t slot_files_max();
// As the settings say, with no more sessions than the limit of open files has room for.
control::UserLimits user_limits(const config::DaemonSettings& settings);

}  // namespace spdld::node
