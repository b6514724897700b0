// A ring of slots between one stream and the readers of one rank. It knows of every slot whose it is: free, being
// filled, or leased to readers; and it keeps of every reader what it holds, so that a dead one gives everything back.
//
// A READY is a lease: it counts from the moment it is sent until the reader gives it back. A slot with several readers
// is free once all of them have. Credit is simply a free slot: a reader that gives nothing back stops the stream, no
// other. A depth below the number of slots bounds what is filled ahead of the readers: the ring then behaves as if it
// had only the slots of that depth and of what its readers may hold. Generations tell a late release of an earlier
// lease from one of this.
//
// A reader may go and still hold batches: it is dismissed, gets no further batch, and keeps the leases it names.
// Control thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/statistics.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/memory/slot_memory.h"

namespace spdld::delivery {

// The side of the ring that a session stands on.
class Reader {
 public:
  virtual void on_ready(const batch::Batch& batch, uint64_t generation) = 0;

 protected:
  ~Reader() = default;
};

using ReaderId = uint64_t;  // another one at every join

struct LeaseId {
  uint32_t slot = 0;
  uint64_t generation = 0;
  friend bool operator==(const LeaseId&, const LeaseId&) = default;
};

struct RingStatistics {
  uint64_t batches = 0, samples = 0;
  uint64_t starved_ns = 0;  // trainers waited in next() although they had credit, as they themselves report it
  Histogram fill_ns, held_ns;
};

class Ring {
 public:
  // held_max: batches that a reader is expected to hold at once; it may hold more.
  Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max);

  // At most this many batches, at least 1, are being filled or lie ready, beyond those that readers may hold: what
  // next() has taken is known only from the release after it, so that room is kept for as many as readers are expected
  // to hold or were seen to hold. At first: all slots.
  void set_depth(uint32_t depth);
  uint32_t depth() const { return depth_; }
  // Called some times a second. true: there is more room. Readers that hold more than was ever seen, or wait for each
  // other, look like those that are slow: where nothing is released for a tick, one more slot may be filled, up to all.
  bool tick();

  // The filling side. The slot returned is the stream's until filled() or given_back(); nullptr: no credit.
  batch::Slot* take_free();
  void filled(const batch::Batch& batch);
  void given_back(batch::Slot& slot);
  // Batches of an older run are dropped from here on.
  void set_run(uint32_t run) { run_ = run; }
  uint32_t run() const { return run_; }

  // The reading side. Every reader gets every batch that is filled while it is there.
  ReaderId join(Reader& at);
  void leave(ReaderId reader);  // all its leases end
  // No further batch; the leases named go on until they are released, or until leave().
  void dismiss(ReaderId reader, std::span<const LeaseId> keeps);
  size_t leases(ReaderId reader) const { return leases_of(reader).size(); }
  std::vector<LeaseId> leases_of(ReaderId reader) const;
  // false: no such lease (an old generation, a slot it does not hold).
  bool release(ReaderId reader, const LeaseId& lease);
  // What a reader tells with its releases: batches that next() has handed out so far, and how long it waited in all.
  void note_progress(ReaderId reader, uint64_t taken, uint64_t waited_us);

  struct Levels {
    size_t free = 0, filling = 0, ready = 0, held = 0;  // ready: sent and not yet taken by next()
  };
  Levels levels() const;
  const std::vector<batch::Slot>& slots() const { return slots_; }
  // At its end: no slot is filled or leased any more, nor called for hereafter.
  memory::SlotMemories take_memories();
  memory::Access access() const { return access_; }
  uint32_t readers() const { return reader_count_; }
  const RingStatistics& statistics() const { return statistics_; }
  uint64_t full_ns() const;  // nothing was being filled for want of room: the trainer is the slower side (backpressure)
  double ready_mean() const;  // batches that lay ready when the next one came, on average: the ring's occupancy
  // The fewest that lay ready when the next one came, since this was called last; UINT32_MAX: none came.
  uint32_t take_ready_low() { return std::exchange(ready_low_, UINT32_MAX); }
  sampler::Position last() const { return last_; }

 private:
  enum class State : uint8_t { kFree, kFilling, kLeased };
  struct Place {
    State state = State::kFree;
    uint64_t generation = 0;
    uint64_t leased_at_ns = 0;
    std::vector<ReaderId> holders;
  };
  struct Seat {
    Reader* at = nullptr;  // nullptr: dismissed
    uint64_t sent = 0, taken = 0, waited_us = 0;
  };
  void end_lease(Place& place, ReaderId reader);
  void note_held(ReaderId reader, const Seat& seat);
  bool has_room() const;
  void watch_fullness();
  size_t ready_count() const;

  std::vector<batch::Slot> slots_;
  std::vector<Place> places_;  // of the slot of the same index
  const memory::Access access_;
  const uint32_t reader_count_;
  std::map<ReaderId, Seat> readers_;
  ReaderId next_reader_ = 1;
  uint32_t run_ = 0;
  uint32_t depth_;
  size_t held_room_;                          // slots kept for what readers hold
  size_t spare_room_ = 0;                     // for what they may hold besides
  bool released_ = true;                      // since the last tick
  uint64_t full_ns_ = 0, full_since_ns_ = 0;  // since: 0: not full
  uint64_t ready_sum_ = 0;
  uint32_t ready_low_ = UINT32_MAX;
  sampler::Position last_;
  RingStatistics statistics_;
};

}  // namespace spdld::delivery
