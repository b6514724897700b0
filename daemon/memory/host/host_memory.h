// The host slots of all rings. Fresh pages cost more than what is written to them (0.5 to 3 us each, and a batch of 64
// float images has 9,400), and giving them back is not free either: so what a ring leaves behind is kept a while for
// the next ring of the same user, as a trainer that starts anew wants it; and what goes, goes on a thread of its own.
//
// The memory of another user's ring, or of one whose trainer has not said that it closed it, is never used again.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/memory/slot_memory.h"

namespace spdld::memory {

// What the system says to huge pages in slots, which make fresh ones ten times cheaper: "advise", "always" or
// "within_size": they are used; "never", as most systems come, "deny"; empty: it says nothing
// (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
std::string huge_pages();

class HostMemory {
 public:
  static constexpr uint64_t kSpareNsMax = 30ull * 1'000'000'000;

  // What a ring's slots are, all alike.
  struct Use {
    uid_t owner = 0;
    uint64_t slot_bytes = 0;
    Access access = Access::kWritable;
    Kind kind = Kind::kHost;  // or kPinned
    friend bool operator==(const Use&, const Use&) = default;
  };

  // spare_bytes_max: of what is kept for later rings; 0: nothing is.
  explicit HostMemory(uint64_t spare_bytes_max);
  ~HostMemory();  // no slot is left elsewhere
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Any thread, as the following. Spare ones first, whose content is what it was. Throws SetupError (kLimit) where the
  // memory can't be had.
  SlotMemories make_slots(const Use& use, size_t count);
  // What a ring of this use leaves behind. closed: nothing of it is open at a trainer any more.
  void give_back(const Use& use, SlotMemories memories, bool closed);
  // Spare memory above `bytes` goes: others need it.
  void keep_at_most(uint64_t bytes);
  // Called some times a second: what nobody wanted for kSpareNsMax goes.
  void tick(uint64_t now_ns);
  uint64_t spare_bytes() const;

 private:
  struct Spare {
    Use use;
    std::unique_ptr<SlotMemory> memory;
    uint64_t since_ns = 0;
  };

  void drop_oldest();  // under the lock
  void free_on_thread();

  const uint64_t spare_bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Spare> spare_;  // under the lock, as the following; oldest first
  uint64_t spare_bytes_ = 0;
  SlotMemories going_;
  bool ending_ = false;
  std::jthread thread_;  // frees what is going
};

}  // namespace spdld::memory
