// An attachment as the daemon granted it: its terms, its slots, and which of them this process holds.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "client/src/connection.h"
#include "client/src/slots.h"

namespace spdld::client {

// The next step to hand out.
struct Place {
  uint64_t epoch = 0;
  uint64_t step = 0;

  bool operator==(const Place& other) const { return epoch == other.epoch && step == other.step; }
  bool operator<(const Place& other) const { return std::tie(epoch, step) < std::tie(other.epoch, other.step); }
};

// What stays the same for a loader, over every restart of its daemon.
struct Terms {
  std::string pipeline;
  std::string fingerprint;
  uint64_t batch_size = 0;
  uint64_t global_size = 0;
  uint64_t samples = 0;
  uint64_t steps_per_epoch = 0;
  uint64_t epochs = 0;  // 0: endless
  uint64_t seed = 0;
  bool writable = true;
};

// Shared by the loader and its batches. take and give_back: any thread.
class Ring {
 public:
  // `answer` is the connection's message; on a failure the ring is of no use.
  Outcome adopt(std::shared_ptr<Connection> connection, const proto::Attached& answer, std::vector<UniqueFd>& memory);

  Connection& connection() const { return *connection_; }
  Slots& slots() { return slots_; }
  const Slots& slots() const { return slots_; }
  uint32_t attachment() const { return attachment_; }
  const Terms& terms() const { return terms_; }
  Place first() const { return first_; }  // of the first batch that comes

  // False: this slot is held already, so the daemon must not have filled it.
  bool take(uint32_t slot, uint64_t generation);
  void give_back(uint32_t slot, uint64_t generation);
  // The loader's thread: a READY was taken, to be handed out or to be released unseen, and what it was waited for.
  void note_taken();
  void release_unseen(uint32_t slot, uint64_t generation) { release(slot, generation); }
  bool all_held() const;
  // Ends the attachment; the batches that are held stay leased until they are given back.
  void detach();

 private:
  struct Lease {
    bool held = false;
    uint64_t generation = 0;
  };

  void release(uint32_t slot, uint64_t generation);

  std::shared_ptr<Connection> connection_;
  Slots slots_;
  uint32_t attachment_ = 0;
  Terms terms_;
  Place first_;
  uint64_t waited_before_us_ = 0;  // for the attachment itself
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> waited_us_{0};

  mutable std::mutex mutex_;
  std::vector<Lease> leases_;  // one a slot
  uint32_t held_count_ = 0;
};

}  // namespace spdld::client
