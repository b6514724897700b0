// Memory that is set aside for the daemon's own bookkeeping. Where operator new finds none, the reserve goes back to
// the system and the allocation is tried again; without a reserve it throws std::bad_alloc. There is one reserve for
// the process. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::memory_reserve {

constexpr size_t kBytes = size_t{8} << 20;

// Sets the reserve aside, now and whenever it was used and memory is there again. False: there is no memory for it now.
bool keep();
// From now on the allocator keeps at most so much freed memory of each thread that works, and gives the rest back to
// the system. Without this call it keeps up to 64 MiB of each, as blocks of some size were freed.
void keep_freed(size_t bytes_per_thread);
// How often operator new has found no memory.
uint64_t shortages();

// While one lives, this thread does not touch the reserve: for large allocations whose failure does no harm.
class Spared {
 public:
  Spared();
  ~Spared();
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;
};

}  // namespace spdld::memory_reserve
