#include "daemon/base/system/memory_reserve.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace spdld::memory_reserve {
namespace {

std::atomic<void*> reserve{nullptr};
std::atomic<uint64_t> shortage_count{0};
thread_local unsigned spared = 0;

void on_no_memory() {
  shortage_count.fetch_add(1, std::memory_order_relaxed);
  void* const held = spared ? nullptr : reserve.exchange(nullptr);
  if (!held) throw std::bad_alloc();
  munmap(held, kBytes);
}

}  // namespace

bool keep() {
  std::set_new_handler(on_no_memory);
  if (reserve.load()) return true;
  // Mapped, not allocated: only so does it go back to the system at once. Its pages are never touched.
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, memory)) munmap(memory, kBytes);
  return true;
}

// Larger blocks are mapped by themselves, and go back when they are freed. 32 MiB is the allocator's own bound.
void keep_freed(size_t bytes_per_thread) {
  constexpr size_t kMappedMax = size_t{32} << 20, kLeast = size_t{1} << 20;
  const auto bytes = static_cast<int>(std::clamp(bytes_per_thread, kLeast, kMappedMax));
  (void)mallopt(M_MMAP_THRESHOLD, bytes);
  (void)mallopt(M_TRIM_THRESHOLD, bytes);
}

uint64_t shortages() { return shortage_count.load(std::memory_order_relaxed); }

Spared::Spared() { spared++; }
Spared::~Spared() { spared--; }

}  // namespace spdld::memory_reserve
