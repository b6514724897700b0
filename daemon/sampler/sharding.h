// How an epoch is cut into steps and a step into ranks, without any node talking to another. With G the global batch,
// step s takes the positions [s*G, min((s+1)*G, N)), and each rank a contiguous slice of them. Every rank has the same
// number of steps; a short last step is spread evenly, so some ranks may get one sample fewer, or none. With `pad` the
// last step is full as well: its positions go on beyond N, where position p means p mod N, so that the epoch's first
// positions come again (several times where G > N). Values; any thread.
#pragma once

#include <cstdint>

#include "config/spec.h"

namespace spdld::sampler {

struct Slice {
  uint64_t first = 0;   // position in the epoch; with `pad` it may be N or more
  uint64_t count = 0;   // valid samples, at most batch_size
  uint64_t padded = 0;  // valid samples, at the slice's end, at positions from N on
  friend bool operator==(const Slice&, const Slice&) = default;
};

// A place in a run: the next step to be handed out. epoch may be `epochs` (at the end).
struct Position {
  uint64_t epoch = 0, step = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// The position `steps` steps later, in epochs of `steps_per_epoch` steps.
inline Position steps_on(Position position, uint64_t steps, uint64_t steps_per_epoch) {
  const uint64_t step = position.step + steps;  // far below 2^64: a step is within an epoch
  return {position.epoch + step / steps_per_epoch, step % steps_per_epoch};
}

class Sharding {
 public:
  // Throws SetupError: rank >= world_size, a global size that world_size does not divide, no step at all (fewer samples
  // than a global batch with `drop`), nothing listed.
  Sharding(uint64_t samples, const config::BatchSpec& batch, uint64_t rank, uint64_t world_size);

  // The same sizes, for epochs that the client cuts into steps ([order] shuffle = "client"): each rank has epochs of
  // its own.
  Sharding without_steps() const;

  uint64_t steps() const { return steps_; }              // of an epoch, for every rank; 0: not known
  uint64_t batch_size() const { return batch_size_; }    // this rank's, of a full step
  uint64_t global_size() const { return global_size_; }  // G
  bool is_only_rank() const { return world_size_ == 1; }
  Slice slice(uint64_t step) const;  // step < steps()
  // Whether an epoch may have this place. The epoch's end is a place too: another name of the next epoch's beginning.
  bool has(Position at) const { return steps_ == 0 || at.step <= steps_; }
  Position by_one_name(Position at) const { return steps_ && at.step == steps_ ? Position{at.epoch + 1, 0} : at; }
  uint64_t epoch_samples() const;  // this rank's samples in an epoch, padded ones as well

 private:
  uint64_t samples_, rank_, world_size_, batch_size_, global_size_, steps_;
  bool pads_;
};

}  // namespace spdld::sampler
