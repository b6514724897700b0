// A ring's memory, opened as the daemon's answer says and as this process can.
#pragma once

#include <memory>

#include "client/src/connection.h"
#include "client/src/gpu_request.h"
#include "client/src/slots.h"

namespace spdld::client {

// `slots` is of the very kind that the answer names; where that cannot be opened, the outcome says why, by name.
// The answer's slot_count and slot_bytes are checked already.
Outcome import_slots(const Connection& connection, const proto::Attached& answer, const std::vector<UniqueFd>& fds,
                     const GpuRequest& gpus, std::unique_ptr<Slots>& slots);

}  // namespace spdld::client
