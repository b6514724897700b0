// The steps that the caller has pushed and next() has not handed out, with the samples of each step. They are kept here
// since a daemon that comes back knows nothing of them. The daemon's terms bound them. One thread, the loader's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "client/src/ring/ring.h"

namespace spdld::client {

class Pushed {
 public:
  // Empties the queue: the next push gives the step of this position.
  void begin(const Terms& terms, Position position);

  // Adds the samples of the next step, or the end of the epoch (with that step, or after the steps pushed before).
  // SPDLD_INVALID, SPDLD_LIMIT: nothing changes.
  CallOutcome push(Position position, std::span<const uint64_t> ids, bool last);
  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }
  uint64_t front_size() const { return steps_.empty() ? 0 : steps_.front().ids.size(); }
  // Removes the step in front, which was handed out. Returns whether it is its epoch's last step.
  bool pop();
  // The failure for a next() that has nothing to wait for.
  static CallOutcome nothing_to_take(Position position);

  // A PUSH with as many steps from `first` on as a message may have. `first` moves behind them.
  std::span<const uint8_t> message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment, uint32_t request,
                                   size_t& first) const;
  static std::span<const uint8_t> end_message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment,
                                              uint32_t request, Position position);

 private:
  struct Step {
    Position position;
    std::vector<uint64_t> ids;
    bool last = false;
  };
  CallOutcome check(Position position, std::span<const uint64_t> ids, bool last) const;

  Terms terms_;
  Position tail_;  // of the step to push next
  std::deque<Step> steps_;
  uint64_t ids_ = 0;  // in steps_
};

}  // namespace spdld::client
