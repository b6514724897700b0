// A worker's end of the memory that it shares with the daemon (proto/crew/ring.h): it takes tasks, sleeps where there
// is none, and replies. The daemon's tasks are checked. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"
#include "proto/crew/ring.h"
#include "proto/seqpacket.h"
#include "proto/unique_fd.h"

namespace spdld::client {

class WorkerSeat {
 public:
  WorkerSeat() = default;
  ~WorkerSeat();
  WorkerSeat(const WorkerSeat&) = delete;
  WorkerSeat& operator=(const WorkerSeat&) = delete;

  // Maps the ring and the scratch memory. `bell`: the worker's end of it, which is open for as long as the seat lives.
  // SPDLD_INTERNAL: a memory is smaller than told, could be cut short, or can't be mapped. Called once.
  CallOutcome open(UniqueFd ring, UniqueFd bell, int scratch, uint64_t scratch_bytes);

  // kLie: the daemon's count of tasks makes no sense.
  proto::crew::Taken take(proto::crew::Task& task) { return reader_->take(task); }
  // Waits until there may be a task to take. kSignal: a signal came before.
  Wake wait();
  // The daemon wants nothing more, as wait() has found.
  bool is_over() const { return is_over_; }
  // For an event loop in place of wait(): the descriptor that is readable when the daemon rings, or wants nothing more.
  int bell() const { return bell_.get(); }
  // Takes note of its rings, and never waits.
  void hear();
  // The daemon is to ring for its next task. False: there is one already.
  bool await_ring();

  // The functions of the call are about to run. `in_flight`: how many calls of its errand are under way at once at the
  // most; 0: it ends before the next one begins.
  void begin(const proto::crew::Task& task, uint32_t in_flight = 0) {
    ring_->begun[task.number % proto::crew::kPlaces].store(proto::crew::begun_word(task.number, in_flight),
                                                           std::memory_order_release);
  }

  // Null: it reaches beyond the scratch memory, or does not lie where extents lie. An empty one lies at its beginning.
  uint8_t* at(const proto::crew::Extent& extent) const;
  std::span<uint8_t> scratch() const { return {scratch_, scratch_bytes_}; }

  // Takes a slot that the task announces, or unmaps one. Returns the daemon's fault, or nullptr. A slot that can't be
  // mapped is no fault: has_slot() says so.
  const char* take_slot(const proto::crew::Task& task);
  const char* drop_slot(const proto::crew::Task& task);
  // Of a slot that was announced: whether it could be mapped; none: it was not announced.
  std::optional<bool> has_slot(uint32_t slot) const;
  // Null: the slot is not mapped, or it reaches beyond it.
  uint8_t* in_slot(uint32_t slot, const proto::crew::Extent& extent) const;
  // A tensor of `item_bytes` an element fits the extent exactly.
  static bool fits(const proto::crew::Shape& shape, uint64_t item_bytes, uint64_t bytes);

  // `reply.text_bytes` is set here; a longer text is cut at the end of a character. The daemon, where it sleeps, is
  // told of replies to short calls together: to wake it for each one would take longer than the call.
  void reply(const proto::crew::Reply& reply, std::string_view text = {}) {
    prepare(reply, text);
    publish(reply.call_ns);
  }
  // The same for the replies of one call for several samples, which come at once with publish().
  void prepare(proto::crew::Reply reply, std::string_view text = {});
  void publish(uint64_t call_ns);

 private:
  void tell();
  bool hear_bell();

  struct Slot {
    uint8_t* start = nullptr;  // null: it could not be mapped
    uint64_t bytes = 0;
  };

  UniqueFd bell_;
  proto::Received heard_;      // over the bell
  std::deque<UniqueFd> came_;  // over the bell, for slots that tasks will announce
  std::map<uint32_t, Slot> slots_;
  bool is_over_ = false;
  uint64_t untold_since_ns_ = 0;  // 0: the daemon was told of all replies
  proto::crew::Ring* ring_ = nullptr;
  uint8_t* scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  std::unique_ptr<proto::crew::LaneReader<proto::crew::Task>> reader_;
  std::unique_ptr<proto::crew::LaneWriter<proto::crew::Reply>> writer_;
};

}  // namespace spdld::client
