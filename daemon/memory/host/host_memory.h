// The host slots of all rings. Fresh pages cost more time than the writes to them (0.5 to 3 us each, and a batch of 64
// float images has 9,400), and giving them back is not free either. So the memory of an ended ring is kept a while for
// the next ring of the same user, for a trainer that starts anew. Memory is freed on a thread of its own.
//
// Memory of another user's ring is never used, nor memory whose trainer has not said that it closed it, nor memory that
// was lent to other processes.
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

// The system's setting for huge pages in slots, which make fresh pages ten times cheaper. With "advise", "always" or
// "within_size" they are used; with "never" (most systems' default) and "deny" they are not. Empty: the system gives no
// setting (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
std::string huge_pages();

class HostMemory {
 public:
  static constexpr uint64_t kSpareNsMax = 30ull * 1'000'000'000;
  static constexpr size_t kSpareSlotsMax = 256;  // each is an open file

  // The properties of a ring's slots, which are all alike.
  struct Use {
    uid_t owner = 0;
    uint64_t slot_bytes = 0;
    Access access = Access::kWritable;
    MemoryKind kind = MemoryKind::kHost;  // or kPinned
    bool has_writers = false;             // processes that may be lent the slots (HostSlot)
    friend bool operator==(const Use&, const Use&) = default;
  };

  // `spare_bytes_max`: the most memory kept for later rings; 0: none is kept.
  explicit HostMemory(uint64_t spare_bytes_max);
  ~HostMemory();  // precondition: no slot is left elsewhere
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Any thread, as for the following. Spare slots are used first; their content is as it was left. Throws SetupError
  // (kLimit) where the memory can't be had.
  SlotMemories make_slots(const Use& use, size_t count);
  // Takes the memory that a ring of this use leaves behind. `closed`: no trainer has any of it open any more.
  void give_back(const Use& use, SlotMemories memories, bool closed);
  // Frees spare memory above `bytes`: other rings need it.
  void keep_at_most(uint64_t bytes);
  // Called some times a second: frees memory that nobody wanted for kSpareNsMax.
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
  std::jthread thread_;  // frees the memory in going_
};

}  // namespace spdld::memory
