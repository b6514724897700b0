#include "daemon/base/memory_reserve.h"

#include <sys/mman.h>

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

uint64_t shortages() { return shortage_count.load(std::memory_order_relaxed); }

Spared::Spared() { spared++; }
Spared::~Spared() { spared--; }

}  // namespace spdld::memory_reserve
