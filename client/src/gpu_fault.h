// What trouble with a GPU is to the caller: a result, and a sentence that begins with the name of its cause.
#pragma once

#include <sys/types.h>

#include "client/src/outcome.h"
#include "proto/cuda/driver.h"

namespace spdld::client {

// At set-up. SPDLD_LIMIT: memory is short. SPDLD_FORKED. SPDLD_UNSUPPORTED: all else.
Outcome outcome_of(const cuda::Fault& fault);

// SPDLD_FAILED: a call of the driver's on the way of a batch.
Outcome work_failure(const cuda::Driver& driver, cuda::abi::Result code, const std::string& what);

// What is known of the process that made the memory, beside the driver's number, which says little.
struct ImportEvidence {
  bool by_handle = false;  // CUDA IPC, which asks more of both processes than file descriptors do
  bool is_slice = false;   // this process's device is a part of a GPU (MIG)
  pid_t daemon_pid = 0;
  uid_t daemon_uid = 0;
  uint64_t ipc_namespace = 0;  // inode numbers of the daemon's; 0: not known
  uint64_t pid_namespace = 0;
};

// Why the daemon's memory could not be opened here.
Outcome explain_import(const cuda::Driver& driver, const cuda::Fault& fault, const ImportEvidence& evidence);

}  // namespace spdld::client
