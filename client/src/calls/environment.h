// Reads what the environment tells this process: the launcher of a training job (torchrun, Slurm or Open MPI, in this
// order), and the user.
#pragma once

#include <cstdint>
#include <string>

#include "client/src/calls/outcome.h"

namespace spdld::client {

struct Launch {
  std::string group;     // of the whole job, the same after a restart of its ranks; "pid:<pid>@<namespace>" without one
  bool is_alone = true;  // no launcher started this process
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t local_rank = 0;
};

// The name of a job that is this process alone. The first process of every container is number 1: PID namespaces tell
// such processes apart.
std::string process_group();

// SPDLD_INVALID where a variable is not a number, or a rank is not below its world size.
CallOutcome read_launch(Launch& launch);

// $SPDLD_REPLAY: how many batches are replayed; 0 where it is not set. SPDLD_INVALID: it is no number.
CallOutcome read_replay(uint32_t& batches);

}  // namespace spdld::client
