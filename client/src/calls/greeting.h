// Gets a connection, and who answers there. It can be continued after a time-out: a call of next with a short time-out
// must not begin from the start each time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/src/calls/connection.h"
#include "client/src/calls/private_daemon.h"
#include "proto/guarded_state.h"

namespace spdld::client {

// Finds or starts the daemon, says HELLO, waits for WELCOME. One thread.
class Greeting {
 public:
  Greeting(Endpoint endpoint, std::string client_name, bool may_start)
      : endpoint_(std::move(endpoint)), client_name_(std::move(client_name)), may_start_(may_start) {}

  // OK: connection() is open. SPDLD_TIMEOUT, SPDLD_INTERRUPTED: call again. All other results end this attempt.
  CallOutcome advance(Deadline deadline);
  const std::shared_ptr<Connection>& connection() const { return connection_; }
  const std::string& daemon() const { return daemon_; }
  // The daemon was there, and went away before it answered: another attempt may succeed.
  bool was_lost() const { return state_ == State::kLost; }
  // No daemon listens, but a daemon may come: the socket's folder is there, and no private daemon was to be started.
  bool is_absent() const { return state_ == State::kAbsent; }

 private:
  enum class State : uint8_t {
    kConnecting,
    kHelloSent,
    kWelcomed,
    kLost,    // as was_lost() says
    kAbsent,  // as is_absent() says
  };
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kConnecting:
        return to == State::kHelloSent || to == State::kLost || to == State::kAbsent;
      case State::kHelloSent:
        return to == State::kWelcomed || to == State::kLost;
      case State::kWelcomed:
      case State::kLost:
      case State::kAbsent:
        return false;
    }
    return false;
  }
  CallOutcome connect(Deadline deadline);
  CallOutcome say_hello();
  CallOutcome read_welcome();

  const Endpoint endpoint_;
  const std::string client_name_;
  const bool may_start_;
  std::optional<PrivateDaemonStart> start_;
  std::shared_ptr<Connection> connection_;
  std::string daemon_;
  GuardedState<State, may> state_{State::kConnecting};
};

// A refusal as the daemon worded it. Stopping is being away: the caller may try again.
CallOutcome refusal(const Connection& connection, const proto::ErrorReply& error);

}  // namespace spdld::client
