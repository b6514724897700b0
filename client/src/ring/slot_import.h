// Opens a ring's memory as the daemon's answer says, if this process can.
#pragma once

#include <memory>

#include "client/src/calls/connection.h"
#include "client/src/gpu/gpu_request.h"
#include "client/src/ring/slots.h"

namespace spdld::client {

// `slots` gets the very kind of memory that the answer names. Where it can't be opened, the outcome names the cause.
// The answer's slot_count and slot_bytes are checked already.
CallOutcome import_slots(const Connection& connection, const proto::Attached& answer, const std::vector<UniqueFd>& fds,
                         const GpuRequest& gpus, std::unique_ptr<Slots>& slots);

}  // namespace spdld::client
