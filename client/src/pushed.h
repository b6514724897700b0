// What the caller has pushed of its order and next() has not handed out: the samples of each step. It is kept here
// since a daemon that comes back knows nothing of it. Bounded by the daemon's word. One thread, the loader's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "client/src/ring.h"

namespace spdld::client {

class Pushed {
 public:
  // Empty again: what is pushed next is the step of this place.
  void begin(const Terms& terms, Place place);

  // Samples of the next step, or the end of the epoch (with it, or of what was pushed before), or SPDLD_INVALID,
  // SPDLD_LIMIT and nothing changes.
  Outcome push(Place place, std::span<const uint64_t> ids, bool last);
  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }
  uint64_t front_size() const { return steps_.empty() ? 0 : steps_.front().ids.size(); }
  // The step in front was handed out; whether it is its epoch's last.
  bool pop();
  // Why next() has nothing to wait for.
  static Outcome nothing_to_take(Place place);

  // PUSH with as many of the steps from `first` on as a message may have; `first` moves behind them.
  std::span<const uint8_t> message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment, uint32_t request,
                                   size_t& first) const;
  static std::span<const uint8_t> end_message(flatbuffers::FlatBufferBuilder& builder, uint32_t attachment,
                                              uint32_t request, Place place);

 private:
  struct Step {
    Place place;
    std::vector<uint64_t> ids;
    bool last = false;
  };
  Outcome check(Place place, std::span<const uint64_t> ids, bool last) const;

  Terms terms_;
  Place tail_;  // of the step to push next
  std::deque<Step> steps_;
  uint64_t ids_ = 0;  // in steps_
};

}  // namespace spdld::client
