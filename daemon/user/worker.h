// The daemon's end of one worker: the ring in which it gets tasks and replies, and what it has in hand. A worker is
// gone only when no process has its end of the bell any more: then nobody writes into the memory of its samples. The
// crew's lock guards all of it.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/pipeline/errand.h"
#include "daemon/pipeline/stage.h"
#include "daemon/user/lent_slots.h"
#include "daemon/user/scratch_file.h"
#include "proto/crew/ring.h"
#include "proto/unique_fd.h"

namespace spdld::user {

struct Job;

// It hands jobs in. Hears of each job's end on the crew's thread, or on the thread of a later call of another
// function of the crew's, without a lock.
class Customer {
 public:
  // `record`: of a making; else none.
  virtual void on_done(const Job& job, Status status, ScratchPiece record) = 0;

 protected:
  ~Customer() = default;
};

// A passage's errands of one turn, or the making of its bytes. The first `done` ones are done.
struct Job {
  pipeline::Passage* passage = nullptr;
  const std::vector<const pipeline::Errand*>* errands = nullptr;
  Customer* customer = nullptr;
  size_t done = 0;
  uint64_t call_ns = 0;                      // in its user's functions so far
  const pipeline::Making* making = nullptr;  // the only errand; null: errands are of operations
  uint64_t index = 0;                        // of the item that is made
  uint64_t number = 0;                       // of the crew's jobs, in the order in which they have come
  uint64_t since_ns = 0;                     // it waits to be one of a bunch; 0: it waits for no others
  bool is_alone = false;                     // a call of several samples has failed with it: it is called by itself
  // Of a making: whether values may be written into the slot (Making::tensors), and whether they were.
  bool may_be_placed = false, is_placed = false;

  const pipeline::Errand& errand() const { return *(*errands)[done]; }
  bool is_wanted() const { return passage->walker->is_wanted(*passage); }
};

// A job in a worker's hands.
struct Call {
  uint64_t number = 0;  // of the worker's calls
  Job job;
  // Memory for the result that is not Passage::carried's own: of the scratch; null: there is none.
  uint8_t* piece = nullptr;
  uint64_t piece_bytes = 0;
  uint32_t slot = 0;            // in which the worker writes; 0: none
  bool waits_for_room = false;  // its function has ended
  bool is_alone = false;        // the worker was told to begin no other call meanwhile
  bool may_be_bunched = false;  // called with other samples, so that it may have to be called again alone
  bool flies = false;           // of an errand that has several calls under way at once
  uint64_t begun_ns = 0;        // when a look() found it begun; 0: none did
  uint64_t written = 0;         // of the worker's tasks, with it
};

class Worker {
 public:
  enum class State : uint8_t {
    kWorking,
    kEnding,  // the crew was told to end it
  };

  // Tasks about slots that it may not have read; more would take the places of others.
  static constexpr size_t kSlotTasksMax = 8;

  // Throws SetupError.
  explicit Worker(uint32_t number);

  uint32_t number() const { return number_; }
  int bell() const { return bell_.get(); }  // readable when replies came while the reader slept, and at the end
  // Takes note of the bell's rings. False: the worker is gone.
  bool hear_bell();
  // It rings more often than replies to its tasks can need, which would keep the daemon awake for nothing.
  bool rings_too_often() const { return rings_ > 2 * tasks_.written() + proto::crew::kPlaces; }
  // The descriptors of START_WORKER; give them away once.
  std::vector<UniqueFd> take_descriptors();

  size_t in_hand() const { return calls_.size(); }
  size_t flying() const { return flying_; }  // how many of them fly
  std::deque<Call>& calls() { return calls_; }
  const std::deque<Call>& calls() const { return calls_; }
  // Whether a further call has a place of its own in Ring::begun.
  bool has_place() const { return calls_.empty() || last_number_ + 1 - calls_.front().number < proto::crew::kPlaces; }
  // The worker may sleep on until tell(). Precondition: it has a place, and the lane of tasks has one too.
  void call(Call call, proto::crew::Task task, uint64_t now_ns);
  void tell() {
    if (!std::exchange(is_untold_, false)) return;
    tasks_.publish();
    tasks_.tell();
  }
  void send(const proto::crew::Task& task) {
    tasks_.put(task);
    tasks_.tell();
  }
  // The call leaves the worker's hands.
  Call take_out(const std::deque<Call>::iterator& call);
  // Whether it has the slot mapped, as far as it says; else it is given the slot, if it can be now. False: it can't
  // write there.
  bool has_slot(const LentSlot& slot);
  // It could not map the slot, as it says.
  void note_refused(uint32_t slot) { slots_[slot] = false; }
  // The slot goes, and it is to unmap it. Precondition: it has no call that writes there.
  void take_slot(uint32_t slot);
  proto::crew::Taken take_reply(proto::crew::Reply& reply, std::string& text);
  // The call that the reply is to, which leaves the worker's hands unless the reply asks for room. None: the worker
  // lies.
  std::optional<Call> answered(const proto::crew::Reply& reply, uint64_t now_ns);
  // Whether the worker has begun the call, as it says. A call that is replied to is none of its calls any more.
  bool has_begun(const Call& call) const { return proto::crew::begun_number(word_of(call)) == call.number; }
  // How many calls of the call's errand it has under way at once, as it says; 0: one ends before the next one begins.
  uint32_t in_flight_of(const Call& call) const;
  // When it last replied, or got something to do.
  uint64_t owes_since_ns() const { return owes_since_ns_; }
  // Notes which calls have begun, so that it is known about since when one of several at once is under way: the time
  // of the oldest one, and 0 where there are none.
  uint64_t look(uint64_t now_ns);
  bool begin_sleep() { return replies_.begin_sleep(); }
  void end_sleep() { replies_.end_sleep(); }

  State state = State::kWorking;
  uint64_t replied = 0;         // to calls
  std::string end_reason = {};  // why it was ended, or how it ended; the end of a sentence; empty: not known

 private:
  Worker(uint32_t number, std::pair<UniqueFd, UniqueFd> bell);
  bool may_tell_of_slots() const { return slot_tasks_.size() < kSlotTasksMax; }
  void tell_of_slot(proto::crew::TaskKind kind, uint32_t slot, uint64_t bytes);
  void tell_of_going();
  void note_read(uint64_t written);

  const uint32_t number_;
  UniqueFd ring_file_, bell_, bell_of_worker_;
  boost::interprocess::mapped_region region_;
  proto::crew::Ring* ring_;
  proto::crew::LaneWriter<proto::crew::Task> tasks_;
  proto::crew::LaneReader<proto::crew::Reply> replies_;
  uint64_t word_of(const Call& call) const {
    return ring_->begun[call.number % proto::crew::kPlaces].load(std::memory_order_acquire);
  }

  std::deque<Call> calls_;  // in the order in which they were sent
  size_t flying_ = 0;
  bool is_untold_ = false;
  uint64_t last_number_ = 0;
  uint64_t owes_since_ns_ = 0;
  uint64_t rings_ = 0;               // of the bell
  std::map<uint32_t, bool> slots_;   // that it was given, by number; false: it could not map it
  std::deque<uint32_t> going_;       // slots that it is still to be told of
  std::deque<uint64_t> slot_tasks_;  // Call::written of tasks about slots that it may not have read
};

}  // namespace spdld::user
