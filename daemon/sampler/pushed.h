// The order of a run whose client pushes it ([order] shuffle = "client"): the samples of each step, in step order,
// ahead of the steps being filled. Nothing is known of an epoch beyond the pushed steps; its end is pushed as well.
// Bounded. Owned by one stream, under its lock.
//
// A sample's key, beside its id, is `place` = step * 65536 + index in the batch (mod 2^64; a batch has fewer than
// 65,536 samples). Its random operations draw from (seed, pass, id) with
//   pass = the first 64 bits, high word first, of the draw named "pass" of (seed, epoch, place)
// so that a sample that comes twice looks different each time, and the same at the same place of the same order, on
// every rank. A substitute is the draw named "substitute" (+ attempt) of (seed, epoch, place), among all samples but
// the bad one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/sampler/sharding.h"

namespace spdld::sampler {

// Successive steps of an epoch, as a client gives them.
struct PushedSteps {
  Position first;               // of the first step
  std::vector<uint32_t> sizes;  // samples of each
  std::vector<uint64_t> ids;    // one step's behind the other's; as many as the sizes' sum
  bool last = false;            // the epoch ends with them; without steps: it had ended before `first`
};

class Pushed {
 public:
  static constexpr size_t kStepsMax = 256;         // known and not taken
  static constexpr size_t kIdsMax = 1u << 18;      // of them: 2 MiB
  static constexpr uint64_t kBatchSizeMax = 8000;  // ids of a step, which a message must hold

  struct Of {
    uint64_t samples;     // ids are below it
    uint64_t batch_size;  // the most of a step
    uint64_t epochs;      // 0: endless
    uint64_t seed;
  };
  Pushed(const Of& of, Position start) : of_(of), next_(start), tail_(start) {}

  // Takes all of the steps or, with a sentence that names the fault, none. kUsage, kLimit.
  Status push(const PushedSteps& steps);
  bool has_next() const { return !known_.empty(); }
  struct Step {
    Position position;
    std::vector<uint64_t> ids;
  };
  Step take();              // precondition: has_next()
  void go_to(Position to);  // forgets all pushed steps

  static uint64_t place(uint64_t step, uint64_t index) { return step * 65536 + index; }
  uint64_t pass(uint64_t epoch, uint64_t place) const;
  // Any sample but `bad` (unless there is only one); attempt from 1.
  uint64_t substitute(uint64_t epoch, uint64_t place, uint64_t bad, uint32_t attempt) const;

 private:
  struct Known {
    std::vector<uint64_t> ids;
    bool last = false;
  };
  Status check(const PushedSteps& steps) const;
  Status check_room(const PushedSteps& steps) const;
  void end_epoch();

  const Of of_;
  Position next_, tail_;  // of the step to take next, and of the one to push next
  std::deque<Known> known_;
  size_t ids_ = 0;  // in known_
};

}  // namespace spdld::sampler
