// A ring of slots between one stream and its readers. It knows of every slot whose it is: free, being filled, or leased
// to readers; and it keeps of every reader what it holds, so that a dead one gives everything back.
//
// A READY is a lease: it counts from the moment it is sent until the reader gives it back. A slot with several readers
// is free once all of them have. Credit is simply a free slot: a reader that gives nothing back stops the stream, no
// other. A depth below the number of slots bounds what is filled ahead of the readers: the ring then behaves as if it
// had only the slots of that depth and of what its readers may hold. Generations tell a late release of an earlier
// lease from one of this.
//
// A reader may go and still hold batches: it is dismissed, gets no further batch, and keeps the leases it names.
//
// The readers of an own ring are replicas of one rank: each is sent every batch as soon as it is filled. Those of a
// shared ring are jobs that come and go and have their own pace. A reader there has at most `credit` leases; what is
// filled beyond waits for it in the ring, where it can be taken away from it without a word. Batches that all have had
// stay, at least `depth` of them, until their slots are needed, so that one who comes a little late finds them: what is
// there without a gap up to the last batch is the window. The furthest behind of its readers holds the others back once
// depth + credit slots are in use; laggard() names it. Dismissed readers' leases come on top: with slots for `credit`
// of each there is always room for the others.
//
// A reader that seeks is paused: it is sent nothing, and holds nobody back, until it is resumed. What its
// READYs say of the run is its own count of seeks; the ring's own run tells batches of before its last move from those
// behind it. A paused reader that stays where it is has its batches kept for it, so that replicas which all meet where
// they stand go on with what is there; as soon as another one has given such a batch back they can't. Control thread
// only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
  // run: this reader's own; batch.run is the ring's.
  virtual void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) = 0;

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
  // An own ring. held_max: batches that a reader is expected to hold at once; it may hold more.
  Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max);
  struct Shared {
    uint32_t credit = 1;  // leases of a reader
    uint32_t depth = 1;   // batches being filled, or waiting for readers beyond that
    uint64_t steps_per_epoch = 1;
    // That this many readers may hold all they may, and the others go on.
    size_t slots(size_t readers) const { return 2 * size_t{depth} + readers * credit; }
  };
  Ring(std::vector<batch::Slot> slots, memory::Access access, const Shared& shared);

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
  // Another place, with all readers paused: batches of an older run are dropped from here on. Leases go on.
  void move(uint32_t run);
  uint32_t run() const { return run_; }
  bool has_begun() const { return begun_; }  // a batch of this run was filled

  // The reading side. A reader gets every batch from `from` on: of those that are filled while it is there, and of a
  // shared ring's window.
  ReaderId join(Reader& at, sampler::Position from = {});
  // Sends it what is there for it already: once it knows that it has joined.
  void begin(ReaderId reader);
  // It has sought, and its READYs will carry `run`; precondition: of an own ring. keeps: of all its leases, those that
  // go on. stays_at: it stands there and keeps no batch from there on. Again while it is paused: the last one counts.
  void pause(ReaderId reader, uint32_t run, std::span<const LeaseId> keeps, std::optional<sampler::Position> stays_at);
  // Whether every reader is paused where it stands, and all that was filled from there on is still there.
  bool all_stay() const;
  // It gets batches again: after a move those of the new run, where all stay what was filled, else those to come.
  void resume(ReaderId reader);
  // The first batch of the window; none: it holds no batch.
  std::optional<sampler::Position> window_begin() const;
  // Of a shared ring: the reader that all wait for, where they do: there is no room to fill anything, another one could
  // take more than there is, and this one is the furthest behind.
  std::optional<ReaderId> laggard() const;
  // Batches that are there and that it has not been sent yet. 0: it is abreast.
  uint64_t behind(ReaderId reader) const;
  void leave(ReaderId reader);  // all its leases end
  // No further batch; the leases named go on until they are released, or until leave().
  void dismiss(ReaderId reader, std::span<const LeaseId> keeps);
  size_t leases(ReaderId reader) const { return leases_of(reader).size(); }
  size_t departed() const;  // readers that were dismissed and hold leases yet
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
  bool is_shared() const { return credit_ != UINT32_MAX; }
  uint32_t readers() const { return reader_count_; }
  const RingStatistics& statistics() const { return statistics_; }
  uint64_t full_ns() const;  // nothing was being filled for want of room: the trainer is the slower side (backpressure)
  double ready_mean() const;  // batches that lay ready when the next one came, on average: the ring's occupancy
  // The fewest that lay ready when the next one came, since this was called last; UINT32_MAX: none came.
  uint32_t take_ready_low() { return std::exchange(ready_low_, UINT32_MAX); }
  sampler::Position last() const { return last_; }

 private:
  enum class State : uint8_t {
    kFree,
    kFilling,
    kLeased,  // readers hold it, or wait for it
    kKept     // shared: all have had it, and it is still there
  };
  struct Place {
    State state = State::kFree;
    uint64_t generation = 0;
    uint64_t leased_at_ns = 0;
    uint64_t number = 0;  // of its batch, from 1 in the order of filling
    batch::Batch batch;
    std::vector<ReaderId> holders;
  };
  struct Seat {
    Reader* at = nullptr;  // nullptr: dismissed
    sampler::Position from;
    uint64_t next = 0;  // number of the batch that it is sent next
    uint64_t sent = 0, taken = 0, waited_us = 0;
    uint32_t run = 0;     // its own
    bool paused = false;  // it is sent nothing
    bool stays = false;   // and waits for `next`, which is there or comes next
  };
  Place* numbered(uint64_t number);
  const Place* numbered(uint64_t number) const;
  void serve(ReaderId id, Seat& seat);
  bool rewind(ReaderId id, Seat& seat, sampler::Position to);
  void forget_stays();
  void settle_all();
  bool is_paused() const;  // nobody here would be sent a batch
  bool is_awaited(const Place& place) const;
  bool is_held(const Place& place) const;  // by readers that are there
  void settle(Place& place);
  size_t in_use() const;
  size_t room_max() const;
  void end_lease(Place& place, ReaderId reader);
  void end_leases_but(ReaderId reader, std::span<const LeaseId> keeps);
  void note_held(ReaderId reader, const Seat& seat);
  bool has_room() const;
  void watch_fullness();
  size_t ready_count() const;

  std::vector<batch::Slot> slots_;
  std::vector<Place> places_;  // of the slot of the same index
  const memory::Access access_;
  const uint32_t reader_count_;
  const uint32_t credit_;  // UINT32_MAX: an own ring
  const uint64_t steps_per_epoch_;
  std::map<ReaderId, Seat> readers_;
  ReaderId next_reader_ = 1;
  uint64_t last_number_ = 0;
  uint32_t run_ = 0;
  bool begun_ = false;
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
