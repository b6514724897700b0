// The seeks of a rank's replicas, and where the replicas meet. Replicas seek together: a replica that has sought waits
// until all present replicas have sought that position. A replica may be some seeks ahead of another, so the seeks of
// each are kept in order and met in order. Once all replicas say that they wait for a batch, only the last seek of each
// counts; if these differ, the replicas have parted. Nobody waits for a replica that has left.
//
// This is the only place that knows of seeks under way; the feed moves its ring and its stream as look() says. Pure: no
// ring, no clock. Control thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "daemon/control/service.h"
#include "daemon/delivery/ring.h"
#include "proto/guarded_state.h"

namespace spdld::node {

class Seeks {
 public:
  static constexpr size_t kSeeksMax =
      64;  // of a replica that is ahead of the others; of more the first are passed over

  enum class State : uint8_t {
    kReading,  // has no seek that the others have not made
    kSought,   // has sought: its last seek is its goal
    kWaiting   // has sought, and waits for a batch from its goal
  };

  // `followed`: where the replica sought before it came back, if it has had one batch since. Another replica may have
  // had none, and then seeks that position again.
  void join(delivery::ReaderId id, std::optional<sampler::Position> followed);
  void leave(delivery::ReaderId id) { replicas_.erase(id); }
  bool has(delivery::ReaderId id) const { return replicas_.contains(id); }

  // The number of the replica's last seek, 0 at first: a new seek has a larger one.
  uint32_t run(delivery::ReaderId id) const { return replicas_.at(id).run; }
  State state(delivery::ReaderId id) const { return replicas_.at(id).state; }
  // Whether this is the second message of a seek, which says that the replica waits; then wait() takes it.
  bool is_second(delivery::ReaderId id, const control::SeekRequest& seek) const;
  void wait(delivery::ReaderId id);
  // Preconditions: seek.run > run(id); seek.to is a position of the run, by its one name.
  void add(delivery::ReaderId id, const control::SeekRequest& seek);

  struct Agreement {
    std::optional<sampler::Position> to;  // all replicas meet here now: met() follows
    bool parted = false;                  // each waits for the others, at different positions: part() follows
  };
  Agreement look();
  // Replicas that follow the others to a meeting, since they went there before they came back.
  std::vector<delivery::ReaderId> followers() const;
  // All replicas are at `to`. Returns the replicas that have no later seek, and so read again.
  std::vector<delivery::ReaderId> meet(sampler::Position to);
  struct Goal {
    delivery::ReaderId id = 0;
    control::SeekRequest seek;  // its last
  };
  // Returns where each replica wanted to go. None waits any more, until it asks again, perhaps for the same.
  std::vector<Goal> part();

 private:
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kReading:
        return to == State::kSought;
      case State::kSought:
        return true;
      case State::kWaiting:
        return to != State::kWaiting;
    }
    return false;
  }
  struct Replica {
    GuardedState<State, may> state{State::kReading};
    uint32_t run = 0;
    std::deque<control::SeekRequest> sought = {};  // seeks that not all replicas have made
    std::optional<sampler::Position> followed = {};

    bool has_sought(sampler::Position to) const;
    bool follows(const control::SeekRequest& seek) const { return seek.again && followed == seek.to; }
  };
  std::optional<sampler::Position> meeting() const;

  std::map<delivery::ReaderId, Replica> replicas_;
};

}  // namespace spdld::node
