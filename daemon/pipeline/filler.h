// A Filler fills a ring's slots with the batches of successive steps: a Stream by decoding, or (in the node's room) a
// Tap by copying batches of another ring. Control thread, unless said otherwise.
#pragma once

#include "daemon/base/result.h"
#include "daemon/batch/slot.h"
#include "daemon/sampler/pushed.h"

namespace spdld::pipeline {

// Called on any thread, maybe from within a call of the filler, so an observer only posts.
class FillObserver {
 public:
  virtual void on_batch(const batch::Batch& batch) = 0;  // in step order
  virtual void on_abandoned(batch::Slot& slot) = 0;      // given back unfilled, after seek, stop or a failure
  virtual void on_failed(const Error& error) = 0;        // once; nothing is filled any more
  virtual void on_quiet() = 0;                           // once: nothing is under way, the filler may be ended
  // wants_slot() has become true since it was false.
  virtual void on_wanting() = 0;

 protected:
  ~FillObserver() = default;
};

class Filler {
 public:
  virtual ~Filler() = default;  // precondition: on_quiet was called
  // Whether slots take copies of other slots (SlotMemory::copy). Else they are written at their fill_address, and must
  // have begun a filling.
  virtual bool copies() const = 0;
  virtual bool wants_slot() = 0;
  // Begins to fill `slot` with the next step. false: there is no step, now or at all.
  virtual bool fill(batch::Slot& slot) = 0;
  virtual void stop() = 0;  // on_quiet follows
  virtual void tick() = 0;  // some times a second
};

// A Filler that makes its batches itself, and so can go to any position: a Stream, or a test's own.
class SeekableFiller : public Filler {
 public:
  // Adds steps to come, where the spec's order is the client's. Refused whole or taken whole; the caller then checks
  // wants_slot() again.
  virtual Status push(const sampler::PushedSteps& steps) = 0;
  // Abandons slots being filled and pushed steps, and goes on at `to`; earlier batches carry an older run.
  virtual void seek(uint32_t run, sampler::Position to) = 0;
};

}  // namespace spdld::pipeline
