// A loader's seek: how far the daemon knows of it, and what it must know when the loader attaches anew meanwhile. One
// thread, the loader's.
//
// The daemon hears of a seek at once. A replica also says when it wants a batch from the new position. It sends no
// other seek before that batch, so that the daemon can tell whether the replicas have parted or will still meet. Until
// the first batch from the new position has come, a replica's ring is still at the position before the seek. A replica
// that loses this ring attaches anew as it was, and seeks again.
#pragma once

#include <cstdint>
#include <optional>

#include "client/src/ring/ring.h"
#include "proto/guarded_state.h"

namespace spdld::client {

class Seeking {
 public:
  enum class State : uint8_t {
    kNone,   // the ring's next batch is the loader's next
    kDue,    // the daemon has not been told
    kSent,   // the daemon has been told
    kWaits,  // the daemon has also been told that the loader waits for a batch from there
  };

  explicit Seeking(bool has_replicas) : has_replicas_(has_replicas) {}

  State state() const { return state_; }
  bool is_told() const { return state_ == State::kSent || state_ == State::kWaits; }
  // Whether the ring is still at the position before the seek, where the other replicas may be. Never without replicas.
  bool is_open() const { return has_replicas_ && state_ != State::kNone; }

  // The loader goes elsewhere, and stood at `from`. `stays`: it wants the position where it stands, and says so.
  void begin(Position from, bool stays);
  // The daemon is being told; run() is the seek's number then. `waits`: also that the loader waits. Throws
  // std::logic_error where there is nothing to tell.
  void tell(bool waits);
  // The daemon refused what it was told. The loader says again that it waits, if its caller goes on here.
  void refuse();
  // A batch of the position `at` has come.
  void arrive(Position at);
  // There is another ring, at ring_position(). A loader without replicas needs no seek any more.
  void start_anew();

  // The number of this ring's last seek; 0: none.
  uint32_t run() const { return run_; }
  bool stays() const { return stays_; }
  // Whether an earlier daemon, or an earlier ring, was told of the seek.
  bool again() const { return again_; }
  // Where a new ring must begin, for a loader whose next position is `next`.
  Position ring_position(Position next) const { return is_open() ? from_ : next; }
  // Where a replica's last seek led, if one batch has come since.
  const std::optional<Position>& sought() const { return sought_; }

 private:
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kNone:
        return to == State::kDue;
      case State::kDue:
        return true;
      case State::kSent:
        return to != State::kSent;
      case State::kWaits:
        return to != State::kWaits;
    }
    return false;
  }

  const bool has_replicas_;
  GuardedState<State, may> state_{State::kNone};
  Position from_;
  bool stays_ = false;
  bool again_ = false;
  uint32_t run_ = 0;
  std::optional<Position> sought_;
};

}  // namespace spdld::client
