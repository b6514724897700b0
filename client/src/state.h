// A loader's position as a text that a checkpoint can hold: spdld_state's JSON, described in spdld.h.
#pragma once

#include <string>
#include <string_view>

#include "client/src/ring/ring.h"

namespace spdld::client {

struct State {
  std::string pipeline;  // for people
  std::string fingerprint;
  std::string key_digests;  // proto/key_digests.h; empty: they are not known
  uint64_t seed = 0;
  Position position;     // of the next batch
  uint64_t samples = 0;  // of the epoch, consumed by the whole job
  uint64_t global_size = 0;
  uint64_t world_size = 0;  // for people
  bool replay = false;      // of a loader that replays: nobody goes on from it
  uint64_t skip_steps = 0;  // after `position`, to be left out; a user writes it into a state, and no loader does
};

State state_of(const Terms& terms, Position position, uint32_t world_size, bool replay = false);
std::string to_json(const State& state);

// SPDLD_INVALID, with a sentence: the state is damaged, of another format, of a replay, or has numbers that no loader
// has.
CallOutcome read_state(std::string_view json, State& state);

// Whether the state is from a loader of these terms. SPDLD_CHANGED: it is from another loader; the sentence names what
// differs. SPDLD_INVALID: the terms fit, but have no such position.
CallOutcome check_state(const State& state, const Terms& terms);
// The keys that differ, for the sentence about a daemon that came back with other terms; as proto::key_note().
std::string key_note(const Terms& before, const Terms& now);
// The end of a sentence about a changed state: how to load it nevertheless.
std::string way_around(bool attached);

// The position of any state under these terms. With another global batch it is the position after as many samples,
// rounded down to a step; a position beyond the epoch's last step is the next epoch's beginning.
Position position_in(const State& state, const Terms& terms);
// The position of any state under these terms, behind the steps that the state leaves out. SPDLD_INVALID: the run ends
// before.
CallOutcome find_position(const State& state, const Terms& terms, Position& position);

}  // namespace spdld::client
