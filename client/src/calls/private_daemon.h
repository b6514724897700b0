// Starts this user's private daemon where none runs: one daemon for all processes, whichever asks first.
#pragma once

#include <sys/types.h>

#include <string>

#include "client/src/calls/deadline.h"
#include "client/src/calls/endpoint.h"
#include "proto/unique_fd.h"

namespace spdld::client {

// One start, which may take several calls. The process that holds the folder's lock starts the daemon; other processes
// wait for its socket. The daemon outlives this process: own session, no inherited descriptors, no parent-death signal.
// One thread.
class PrivateDaemonStart {
 public:
  explicit PrivateDaemonStart(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  PrivateDaemonStart(const PrivateDaemonStart&) = delete;
  PrivateDaemonStart& operator=(const PrivateDaemonStart&) = delete;
  ~PrivateDaemonStart();

  // OK: `socket` is connected. SPDLD_TIMEOUT, SPDLD_INTERRUPTED: call again. Else the start has failed.
  CallOutcome advance(Deadline deadline, UniqueFd& socket);

 private:
  CallOutcome spawn();
  CallOutcome describe_end() const;

  Endpoint endpoint_;
  UniqueFd lock_;        // held from the election until the daemon answers
  UniqueFd child_;       // a pidfd of the daemon, when this process started it
  off_t log_start_ = 0;  // where this daemon's lines begin in the log
  Deadline answer_before_ = Deadline::never();
};

}  // namespace spdld::client
