// Gets a ring over a connection. It can be continued after a time-out, as the greeting can.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/src/calls/greeting.h"
#include "client/src/crew/crew_start.h"
#include "client/src/gpu/gpu_request.h"
#include "client/src/ring/ring.h"
#include "proto/guarded_state.h"

namespace spdld::client {

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
  CrewCommand crew;  // none is given: CREW_WANTED is not for this client
};

struct Progress {
  std::string what = "connecting to the daemon";  // what the user waits for
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t messages = 0;  // received so far; each shows that the daemon lives
};

// Starts the crew that the daemon asks for, where the request has a command.
CallOutcome answer_crew_wanted(const AttachRequest& request, const Connection& connection,
                               const proto::CrewWanted& wanted);

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
