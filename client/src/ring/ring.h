// An attachment as the daemon granted it: its terms, its slots, and the slots that this process holds.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "client/src/calls/connection.h"
#include "client/src/gpu/gpu_request.h"
#include "client/src/gpu/stream_work.h"
#include "client/src/ring/lease.h"
#include "client/src/ring/slots.h"
#include "proto/guarded_state.h"

namespace spdld::client {

// A position in a run: the next step to hand out.
struct Position {
  uint64_t epoch = 0;
  uint64_t step = 0;

  bool operator==(const Position& other) const { return epoch == other.epoch && step == other.step; }
  bool operator<(const Position& other) const { return std::tie(epoch, step) < std::tie(other.epoch, other.step); }
};
std::string text_of(const Position& position);  // "epoch 1, step 2"

// Names of a mix's sources, or of classes, as the C interface gives them.
struct Names {
  explicit Names(std::vector<std::string> given) : texts(std::move(given)) {
    for (const std::string& text : texts) pointers.push_back(text.c_str());
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  const std::vector<std::string> texts;
  std::vector<const char*> pointers;
};

// The terms that stay the same for a loader, over every restart of its daemon.
struct Terms {
  std::string pipeline;
  std::string fingerprint;
  std::string key_digests;  // proto/key_digests.h; empty: they are not known
  uint64_t batch_size = 0;
  uint64_t global_size = 0;
  uint64_t samples = 0;
  uint64_t steps_per_epoch = 0;
  uint64_t epochs = 0;  // 0: endless
  uint64_t seed = 0;
  bool writable = true;
  bool shared = false;  // with other jobs; this and leases_max may change at a new attach
  uint32_t leases_max = 0;
  // Not 0: the caller pushes the order, at most this many steps and samples ahead; steps_per_epoch is 0 then.
  uint32_t push_steps_max = 0;
  uint64_t push_ids_max = 0;
  std::shared_ptr<const Names> sources;  // never null; empty: a single source
  uint64_t class_count = 0;
  std::shared_ptr<const Names> classes;  // never null; class_count names, or none where they are too long to be sent
  std::vector<std::string> missing;      // the first sentences about data that the last listing misses
  uint64_t missing_count = 0;
  uint64_t last_samples = 0;  // of all ranks in an epoch's last step, without padding; 0: not known, or epochs differ
  uint64_t empty_steps = 0;   // of an epoch: in which some ranks get no sample

  bool is_pushed() const { return push_steps_max != 0; }
  // Whether an epoch may have this position. The epoch's end is a position too: another name of the next epoch's
  // beginning.
  bool has(Position position) const { return is_pushed() || position.step <= steps_per_epoch; }
  Position by_one_name(Position position) const {
    return !is_pushed() && position.step == steps_per_epoch ? Position{position.epoch + 1, 0} : position;
  }
};

// The memory in which the batches lie.
struct Placement {
  spdld_memory memory = SPDLD_HOST;
  int device = -1;  // CUDA's ordinal in this process
  std::string gpu;  // its UUID; empty for host memory
  bool ready_early = false;

  // A training run goes on after a change of transport, but not after a change of this.
  bool is_like(const Placement& other) const;
};

// Shared by the loader and its batches. Where a GPU works on a slot, its lease ends after that work: the lease is under
// way, and a function that the driver calls gives it back. Any thread may call take, give_back, use and wait_for_copy.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // `answer` is the connection's message; on a failure the ring is of no use.
  CallOutcome adopt(std::shared_ptr<Connection> connection, const proto::Attached& answer,
                    std::vector<UniqueFd>& memory, const GpuRequest& gpus);

  Connection& connection() const { return *connection_; }
  Slots& slots() const { return *slots_; }
  uint32_t attachment() const { return attachment_; }
  const Terms& terms() const { return terms_; }
  const Placement& placement() const { return placement_; }
  Position first() const { return first_; }  // position of the first batch that comes

  // False: this slot is held already, so the daemon must not have filled it.
  bool take(uint32_t slot, uint64_t generation);
  // Gives back a lease whose batch is gone.
  static void give_back(LeaseList lease);
  // The loader's thread: counts a READY that was taken, to be handed out or released unseen, and notes the waiting time
  // so far.
  void note_taken();
  void release_unseen(uint32_t slot, uint64_t generation) { release(slot, generation); }
  // An error where no slot can come back by itself: all are held by batches of this process, or wait for a capture's
  // end.
  CallOutcome room() const;
  uint32_t held_count() const;
  // The loader's thread: waits until there is room, or until the deadline.
  Wake wait_for_room(Deadline deadline);
  // Whether a batch has ever been given back by another thread than the loader's.
  bool returned_elsewhere() const { return returned_elsewhere_.load(std::memory_order_relaxed); }
  // The leases that the daemon must not take back: of batches that are held, or not given back yet.
  std::vector<proto::LeaseId> held() const;
  // Ends the attachment; batches that are held stay leased until they are given back. Waits for the leases under way.
  void detach();

  // Whether streams work on the slots, and releases follow them.
  bool follows_streams() const { return work_ != nullptr; }
  // Makes the stream wait for the slot's copy. SPDLD_FAILED: the copy failed, or its daemon has ended before it was
  // done.
  CallOutcome make_wait(uint32_t slot, cuda::abi::Stream stream);
  // Waits on the host for the slot's copy. SPDLD_FAILED as make_wait() has it, SPDLD_TIMEOUT.
  CallOutcome wait_for_copy(uint32_t slot) const;
  // The trouble that a GPU's error has made for the ring, found while leases are under way. OK: the ring goes on.
  CallOutcome trouble();

 private:
  friend class Returns;
  enum class State : uint8_t {
    kFree,
    kHeld,
    kUnderWay,  // its batch is gone, and the GPU still works on it
    kPutOff,    // its batch is gone, and one of its streams is being captured
    kLost,      // an error keeps the lease
  };
  static constexpr bool may(State from, State to) {
    switch (from) {
      case State::kFree:
        return to == State::kHeld;
      case State::kHeld:
        return to == State::kFree || to == State::kUnderWay;
      case State::kUnderWay:
        return to == State::kFree || to == State::kPutOff || to == State::kLost;
      case State::kPutOff:
        return to == State::kUnderWay;
      case State::kLost:  // the work has ended after all, or it was never launched, since a capture was on
        return to == State::kFree || to == State::kPutOff;
    }
    return false;
  }
  struct Hold {
    GuardedState<State, may> state{State::kFree};
    uint64_t generation = 0;
    Deadline look_at = Deadline::never();  // when to check work that is under way
  };

  void release(uint32_t slot, uint64_t generation);
  bool has_room() const;         // under mutex_
  void set_free(uint32_t slot);  // under mutex_

  StreamWork& work() { return *work_; }
  void note_returning(uint32_t slot);
  void note_put_off(uint32_t slot);
  // In a host function: ends the lease, unless the slot's memory must be closed first.
  void finish(uint32_t slot, uint64_t generation) noexcept;
  // On a caller's thread: does what finish could not do.
  void settle(uint32_t slot, uint64_t generation);
  void lose(const Lease& lease, cuda::abi::Result code);
  void note_lost(uint32_t slot, cuda::abi::Result code);
  bool is_detached() const;
  // Whether any of the work under way will still end as it should.
  bool work_lives();
  void wait_for_streams();

  std::shared_ptr<Connection> connection_;
  std::unique_ptr<Slots> slots_;
  std::unique_ptr<StreamWork>
      work_;  // ends before the slots, and they before the connection: memory is closed, then reported
  uint32_t attachment_ = 0;
  Terms terms_;
  Placement placement_;
  Position first_;
  uint64_t waited_before_us_ = 0;  // waiting for the attachment itself
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> waited_us_{0};

  mutable std::mutex mutex_;
  std::vector<Hold> holds_;  // one a slot
  UniqueFd freed_;           // an eventfd, made by the first wait for room
  bool room_awaited_ = false;
  std::atomic<pid_t> taker_{0};  // the thread that took a batch last
  std::atomic<bool> returned_elsewhere_{false};
  bool detached_ = false;
  CallOutcome trouble_;

  uint32_t under_way_ = 0;  // leases that the driver has; Returns changes it, under its mutex
};

}  // namespace spdld::client
