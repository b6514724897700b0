// The socket where the client looks for the daemon.
#pragma once

#include <string>

#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"
#include "proto/unique_fd.h"

namespace spdld::client {

struct Endpoint {
  std::string path;
  std::string folder;      // of a private daemon, with its socket, lock and log; empty for all other daemons
  bool is_system = false;  // the system's daemon, which answered and which nobody had named

  bool is_private() const { return !folder.empty(); }
};

inline constexpr const char* kSystemSocket = "/run/spdld/spdld.sock";

// `socket` if given, else $SPDLD_SOCKET, else the system's daemon if it answers, else this user's private daemon (whose
// folder is made, and refused where it belongs to somebody else).
CallOutcome find_endpoint(const char* socket, Endpoint& endpoint);

// The endpoint of this user's private daemon.
CallOutcome find_private_endpoint(Endpoint& endpoint);
// Whether the folder of the socket is there; a wrong path has none, as a rule.
bool has_folder(const Endpoint& endpoint);

// Connects. Where so many clients connect at once that the daemon has no room for another, it waits until the deadline.
// Empty: errno is EAGAIN where that room did not come, EINTR where a signal came.
UniqueFd connect_before(const std::string& path, Deadline deadline);

// "no daemon answers at PATH: ..." for a connect() that failed with this errno; SPDLD_TIMEOUT, SPDLD_INTERRUPTED: as
// connect_before says.
CallOutcome connect_failure(const Endpoint& endpoint, int error);

}  // namespace spdld::client
