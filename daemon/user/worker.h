// The daemon's end of one worker: the ring in which it gets tasks and replies, and what it has in hand. A worker is
// gone only when no process has its end of the bell any more: then nobody writes into the memory of its samples. The
// crew's lock guards all of it.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/pipeline/errand.h"
#include "daemon/pipeline/stage.h"
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
  bool waits_for_room = false;  // its function has ended
};

class Worker {
 public:
  enum class State : uint8_t {
    kWorking,
    kEnding,  // the crew was told to end it
  };

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
  std::deque<Call>& calls() { return calls_; }
  // Precondition: fewer than kPlaces are in hand.
  void call(Call call, proto::crew::Task task, uint64_t now_ns);
  void send(const proto::crew::Task& task) {
    tasks_.put(task);
    tasks_.tell();
  }
  proto::crew::Taken take_reply(proto::crew::Reply& reply, std::string& text);
  // The call that the reply is to, which leaves the worker's hands unless the reply asks for room. None: the worker
  // lies.
  std::optional<Call> answered(const proto::crew::Reply& reply, uint64_t now_ns);
  // The call that the worker has begun and not replied to, as it says; null: none.
  const Call* begun() const;
  // The call that it keeps others waiting with; null: it has none in hand.
  const Call* owed() const;
  // When it last replied, or got something to do.
  uint64_t owes_since_ns() const { return owes_since_ns_; }
  bool begin_sleep() { return replies_.begin_sleep(); }
  void end_sleep() { replies_.end_sleep(); }

  State state = State::kWorking;
  uint64_t replied = 0;         // to calls
  std::string end_reason = {};  // why it was ended, or how it ended; the end of a sentence; empty: not known

 private:
  Worker(uint32_t number, std::pair<UniqueFd, UniqueFd> bell);

  const uint32_t number_;
  UniqueFd ring_file_, bell_, bell_of_worker_;
  boost::interprocess::mapped_region region_;
  proto::crew::Ring* ring_;
  proto::crew::LaneWriter<proto::crew::Task> tasks_;
  proto::crew::LaneReader<proto::crew::Reply> replies_;
  std::deque<Call> calls_;  // in the order in which they were sent
  uint64_t last_number_ = 0;
  uint64_t owes_since_ns_ = 0;
  uint64_t rings_ = 0;  // of the bell
};

}  // namespace spdld::user
