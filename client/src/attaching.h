// Gets a connection, and over it a ring. Both can be continued after a time-out: a call of next with a short time-out
// must not begin from the start each time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/src/calls/private_daemon.h"
#include "client/src/gpu/gpu_request.h"
#include "client/src/ring/ring.h"
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

// The content of ATTACH; kept for every later attach.
struct AttachRequest {
  std::string client_name;
  bool may_start = true;
  std::string pipeline;
  std::string spec;
  bool spec_is_json = false;
  std::string spec_folder;
  std::string group;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t reader = 0;
  uint32_t readers = 1;
  Position position;
  std::optional<Position> sought;  // of a replica: where its last seek led, if it has had one batch since
  proto::Join join = proto::Join::now;
  std::string fingerprint;
  std::string key_digests;  // of the training run of this fingerprint
  uint32_t held_max = 0;
  uint64_t batch_size = 0;
  bool looks = false;
  GpuRequest gpus;
};

struct Progress {
  std::string what = "connecting to the daemon";  // what the user waits for
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t messages = 0;  // received so far; each shows that the daemon lives
};

// One attempt to attach. One thread.
class Attaching {
 public:
  Attaching(const Endpoint& endpoint, const AttachRequest& request)
      : greeting_(endpoint, request.client_name, request.may_start), request_(request) {}

  // Goes on as Greeting::advance does; OK: ring() is attached.
  CallOutcome advance(Deadline deadline);
  const std::shared_ptr<Ring>& ring() const { return ring_; }
  const std::string& daemon() const { return greeting_.daemon(); }
  const Progress& progress() const { return progress_; }
  bool was_lost() const { return state_ == State::kLost || greeting_.was_lost(); }
  // The daemon does not take this user's spec; another daemon may.
  bool spec_was_refused() const { return state_ == State::kSpecRefused; }
  bool is_absent() const { return greeting_.is_absent(); }

 private:
  enum class State : uint8_t {
    kGreeting,
    kAsked,        // ATTACH is sent
    kLost,         // the daemon went away after the greeting
    kSpecRefused,  // as spec_was_refused() says
  };
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kGreeting:
        return to == State::kAsked || to == State::kLost;
      case State::kAsked:
        return to == State::kLost || to == State::kSpecRefused;
      case State::kLost:
      case State::kSpecRefused:
        return false;
    }
    return false;
  }

  CallOutcome ask();
  CallOutcome read_answer();

  Greeting greeting_;
  const AttachRequest request_;
  GuardedState<State, may> state_{State::kGreeting};
  Progress progress_;
  std::shared_ptr<Ring> ring_;
};

}  // namespace spdld::client
