// A ring of slots between one stream and its readers. It knows the state of every slot: free, being filled, or leased
// to readers. It also knows the leases of every reader, so that a dead reader gives everything back.
//
// A READY is a lease: it counts from the moment it is sent until the reader gives it back. A slot with several readers
// is free once all of them have given it back. Credit is simply a free slot: a reader that gives nothing back stops its
// own stream and no other. A depth below the number of slots bounds the batches that are filled ahead of the readers:
// the ring then behaves as if it had only so many slots, and as many more as its readers may hold. Generations tell a
// late release of an earlier lease from a release of the current lease.
//
// A reader may go and still hold batches: it is dismissed, gets no further batch, and keeps the leases that it names.
//
// The readers of an own ring are replicas of one rank: each is sent every batch as soon as it is filled. The readers of
// a shared ring are jobs that come and go, each at its own pace. Such a reader has at most `credit` leases; further
// batches wait for it in the ring, which can take them away without a message. Batches that all readers have had stay
// until their slots are needed, at least `depth` of them, so that a job that joins a little late finds them. The window
// is all batches that are there without a gap up to the last batch. Once depth + credit slots are in use, the reader
// that is furthest behind holds the others back; laggard() names it. Dismissed readers' leases come on top: with slots
// for `credit` of each dismissed reader there is always room for the others.
//
// A reader that seeks is paused: until it is resumed, it is sent nothing and holds nobody back. The run in its READYs
// is its own count of seeks; the ring's own run tells batches before the ring's last move from later batches. For a
// paused reader that stays where it stands, the ring keeps its batches. So replicas that all meet where they stand go
// on with the batches that are there. Once another replica has given such a batch back, the replicas can't go on with
// it.
//
// Every state changes at one place, along listed transitions; a change that is not listed throws std::logic_error.
// Control thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/statistics.h"
#include "daemon/base/trace.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/memory/slot_memory.h"
#include "proto/guarded_state.h"

namespace spdld::delivery {

// A trainer, through its session, or a Tap, which takes the batches of a ring.
class Reader {
 public:
  // `run`: this reader's own run; batch.run is the ring's run.
  virtual void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) = 0;

 protected:
  ~Reader() = default;
};

using ReaderId = uint64_t;  // a new number at every join

struct LeaseId {
  uint32_t slot = 0;
  uint64_t generation = 0;
  friend bool operator==(const LeaseId&, const LeaseId&) = default;
};

struct RingStatistics {
  uint64_t batches = 0, samples = 0;
  uint64_t starved_ns = 0;  // trainers waited in next() with credit left, as they report it themselves
  Histogram fill_ns, held_ns;
};

class Ring {
 public:
  // Makes an own ring, which serves one rank. `held_max`: batches that a reader is expected to hold at once; it may
  // hold more.
  Ring(std::vector<batch::Slot> slots, memory::Access access, uint32_t readers, uint32_t held_max);
  struct Shared {
    uint32_t credit = 1;  // leases of a reader
    uint32_t depth = 1;   // batches being filled, or waiting for readers beyond their credit
    uint64_t steps_per_epoch = 1;
    // Slots with which this many readers may use all their credit while the others go on.
    size_t slots(size_t readers) const { return 2 * size_t{depth} + readers * credit; }
  };
  Ring(std::vector<batch::Slot> slots, memory::Access access, const Shared& shared);

  // At most this many batches (at least 1) are being filled or lie ready, beyond the batches that readers may hold. The
  // ring learns what next() has taken only from the release after it, so it keeps room for as many batches as readers
  // are expected to hold or were seen to hold. At first: all slots.
  void set_depth(uint32_t depth);
  uint32_t depth() const { return depth_; }
  // Called some times a second. true: there is more room. Readers that hold more than was ever seen, or wait for each
  // other, look like slow readers. So where nothing is released for a tick, one more slot may be filled, up to all
  // slots.
  bool tick();

  // The filling side. The slot returned belongs to the stream until filled() or given_back(); nullptr: no credit.
  batch::Slot* take_free();
  void filled(const batch::Batch& batch);
  void given_back(batch::Slot& slot);
  // Goes to another position, while all readers are paused: from here on batches of an older run are dropped. Leases go
  // on.
  void move(uint32_t run);
  uint32_t run() const { return run_; }
  // Records READYs and RELEASEs from now on, where this subject is recorded (trace.h).
  void trace_as(uint64_t subject) { subject_ = subject; }
  bool has_begun() const { return begun_; }  // a batch of this run was filled

  // The reading side. A reader gets every batch from `from` on that is filled while the reader is there, or that is in
  // a shared ring's window.
  ReaderId join(Reader& at, sampler::Position from = {});
  // Sends a reader the batches that are there for it already, once the reader knows that it has joined.
  void begin(ReaderId reader);
  // The reader has sought, and its READYs will carry `run`. Precondition: the ring is not shared. `keeps`: its leases
  // that go on; its other leases end. `stays_at`: it stands there already and keeps no batch from there on. May be
  // called again while the reader is paused: the last call counts.
  void pause(ReaderId reader, uint32_t run, std::span<const LeaseId> keeps, std::optional<sampler::Position> stays_at);
  // Whether every reader is paused where it stands, and all batches that were filled from there on are still there.
  bool all_stay() const;
  // The reader gets batches again: after a move the batches of the new run; where all readers stay, the batches that
  // were filled; else the batches to come.
  void resume(ReaderId reader);
  // The position of the window's first batch; none: the window is empty.
  std::optional<sampler::Position> window_begin() const;
  // How many further batches come before a reader has to give anything back.
  size_t to_come() const;
  // The reader of a shared ring that all others wait for: there is no room to fill anything, another reader could take
  // more than there is, and this reader is the furthest behind.
  std::optional<ReaderId> laggard() const;
  // Whether no other reader that takes the next batch was sent more than this reader.
  bool is_abreast(ReaderId reader) const;
  // The number of batches in the ring that the reader has not been sent yet.
  uint64_t behind(ReaderId reader) const;
  void leave(ReaderId reader);  // all its leases end
  // The reader gets no further batch; the leases in `keeps` go on until they are released, or until leave().
  void dismiss(ReaderId reader, std::span<const LeaseId> keeps);
  size_t leases(ReaderId reader) const { return leases_of(reader).size(); }
  size_t departed() const;  // dismissed readers that still hold leases
  std::vector<LeaseId> leases_of(ReaderId reader) const;
  // false: no such lease (an old generation, a slot it does not hold).
  bool release(ReaderId reader, const LeaseId& lease);
  // Notes the counts that a reader sends with its releases: batches that next() has handed out so far, and its waiting
  // time in all.
  void note_progress(ReaderId reader, uint64_t taken, uint64_t waited_us);

  struct Levels {
    size_t free = 0, filling = 0, ready = 0, held = 0;  // ready: sent and not yet taken by next()
  };
  Levels levels() const;
  const std::vector<batch::Slot>& slots() const { return slots_; }
  // Takes the slots' memory at the ring's end: no slot is filled or leased any more, nor asked for later.
  memory::SlotMemories take_memories();
  memory::Access access() const { return access_; }
  bool is_shared() const { return shared_.has_value(); }
  uint32_t readers() const { return reader_count_; }
  const RingStatistics& statistics() const { return statistics_; }
  uint64_t full_ns() const;  // time with nothing being filled for lack of room: the trainer is slower (backpressure)
  // Batches that lay ready when the next batch came, added up: by statistics().batches, the mean occupancy.
  uint64_t ready_sum() const { return ready_sum_; }
  struct Progress {
    uint64_t taken = 0, waited_us = 0;
  };
  Progress progress(ReaderId reader) const;  // as the reader's last release told it
  // The fewest batches that lay ready when the next batch came, since the last call; none: no batch came.
  std::optional<uint32_t> take_ready_low() { return std::exchange(ready_low_, std::nullopt); }
  sampler::Position last() const { return last_; }

 private:
  enum class SlotState : uint8_t {
    kFree,
    kFilling,
    kLeased,  // readers hold it, or wait for it
    kKept     // shared ring: all readers have had it, and it is still there
  };
  static constexpr bool may(SlotState from, SlotState to) {
    switch (from) {
      case SlotState::kFree:
        return to == SlotState::kFilling;
      case SlotState::kFilling:
        return to == SlotState::kFree || to == SlotState::kLeased;
      case SlotState::kLeased:
        return to == SlotState::kFree || to == SlotState::kKept;
      case SlotState::kKept:
        return to == SlotState::kFilling || to == SlotState::kLeased;
    }
    return false;
  }
  enum class ReaderState : uint8_t {
    kReading,   // is sent batches
    kPaused,    // has sought, and is sent nothing
    kStaying,   // has sought where it stands: it waits for batch `next`, which is there or comes next
    kDismissed  // has gone, and may still hold leases
  };
  static constexpr bool may(ReaderState from, ReaderState to) {
    switch (from) {
      case ReaderState::kReading:
        return to != ReaderState::kReading;
      case ReaderState::kPaused:
      case ReaderState::kStaying:
        return true;  // a reader may seek again while it is paused
      case ReaderState::kDismissed:
        return false;
    }
    return false;
  }
  // The ring's record of the slot of the same index.
  struct SlotRecord {
    GuardedState<SlotState, may> state{SlotState::kFree};
    uint64_t generation = 0;
    uint64_t leased_at_ns = 0;
    uint64_t number = 0;  // of its batch, from 1 in the order of filling
    batch::Batch batch;
    std::vector<ReaderId> holders;
  };
  struct ReaderRecord {
    Reader* at = nullptr;  // not called once it is dismissed
    sampler::Position from;
    uint64_t next = 0;  // number of the batch to send next
    uint64_t sent = 0, taken = 0, waited_us = 0;
    uint32_t run = 0;  // its own
    GuardedState<ReaderState, may> state{ReaderState::kReading};
    bool is_here() const { return state != ReaderState::kDismissed; }
  };
  SlotRecord* numbered(uint64_t number);
  const SlotRecord* numbered(uint64_t number) const;
  static bool may_be_filled(const SlotRecord& slot) {
    return slot.state == SlotState::kFree || slot.state == SlotState::kKept;
  }
  size_t leases_max() const;                          // of a reader
  bool takes_next(const ReaderRecord& record) const;  // the next batch that is filled
  void serve(ReaderId id, ReaderRecord& record);
  bool rewind(ReaderId id, ReaderRecord& record, sampler::Position to);
  void forget_stays();
  void settle_all();
  bool is_paused() const;  // nobody here would be sent a batch
  bool is_awaited(const SlotRecord& slot) const;
  bool is_held(const SlotRecord& slot) const;  // by readers that are there
  void settle(SlotRecord& slot);
  bool is_wanted(const SlotRecord& slot) const;  // not given back yet, or still to be sent
  size_t in_use() const;
  size_t room_max() const;
  void trace(trace::What what, ReaderId reader, uint64_t batch, uint64_t start_ns) const;
  void end_lease(SlotRecord& slot, ReaderId reader);
  void end_leases_but(ReaderId reader, std::span<const LeaseId> keeps);
  void note_held(ReaderId reader, const ReaderRecord& record);
  bool has_room() const;
  void watch_fullness();
  size_t ready_count() const;

  std::vector<batch::Slot> slots_;
  std::vector<SlotRecord> records_;
  const memory::Access access_;
  const uint32_t reader_count_;
  const std::optional<Shared> shared_;  // none: an own ring
  std::map<ReaderId, ReaderRecord> readers_;
  ReaderId next_reader_ = 1;
  uint64_t last_number_ = 0;
  uint32_t run_ = 0;
  bool begun_ = false;
  uint32_t depth_;
  size_t held_room_;                       // slots kept for what readers hold
  size_t spare_room_ = 0;                  // further slots for what they may hold
  bool released_ = true;                   // since the last tick
  uint64_t full_ns_ = 0;                   // of times that have ended
  std::optional<uint64_t> full_since_ns_;  // none: not full
  uint64_t ready_sum_ = 0;
  std::optional<uint32_t> ready_low_;
  sampler::Position last_;
  RingStatistics statistics_;
  uint64_t subject_ = trace::kNobody;
};

}  // namespace spdld::delivery
