// Turns trouble with a GPU into a result for the caller, and a sentence that begins with the name of its cause.
#pragma once

#include <sys/types.h>

#include "client/src/calls/outcome.h"
#include "proto/cuda/driver.h"

namespace spdld::client {

// For faults at set-up. SPDLD_LIMIT: memory is short. SPDLD_FORKED: the process was forked. SPDLD_UNSUPPORTED: all
// other faults.
CallOutcome outcome_of(const cuda::Fault& fault);

// SPDLD_FAILED, for a driver's call that failed on the way of a batch.
CallOutcome work_failure(const cuda::Driver& driver, cuda::abi::Result code, const std::string& what);

// Evidence about the process that made the memory. The driver's number alone says little.
struct ImportEvidence {
  bool by_handle = false;  // CUDA IPC, which asks more of both processes than file descriptors do
  bool is_slice = false;   // this process's device is a part of a GPU (MIG)
  pid_t daemon_pid = 0;
  uid_t daemon_uid = 0;
  uint64_t ipc_namespace = 0;  // inode numbers of the daemon's namespaces; 0: not known
  uint64_t pid_namespace = 0;
};

// Explains why the daemon's memory could not be opened here.
CallOutcome explain_import(const cuda::Driver& driver, const cuda::Fault& fault, const ImportEvidence& evidence);

}  // namespace spdld::client
