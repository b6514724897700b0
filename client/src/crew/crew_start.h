// Starts a crew, which runs the user's own code beside the daemon, where the daemon asks for one (CREW_WANTED). Any
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/src/calls/outcome.h"

namespace spdld::client {

// The program that becomes a crew: its path and its arguments, and what it reads behind the token and the socket.
struct CrewCommand {
  std::vector<std::string> arguments;
  std::shared_ptr<const std::string> input;  // copies of a request share it: a data set in it may be large; null: empty

  bool is_given() const { return !arguments.empty(); }
};

// The crew is no child of this process when the call returns, and has a session of its own: no signal of a terminal
// reaches it, it leaves no zombie, and wait() of this program does not see it. Its stdin is a sealed memory with the
// token, the socket's path and the command's input, a line each for the first two; its stdout and stderr are this
// process's stderr; it inherits no other descriptor. SPDLD_FAILED: it can't be started.
CallOutcome start_crew(const CrewCommand& command, const std::string& token, const std::string& socket);

}  // namespace spdld::client
