// operator new and delete of the whole program: malloc's memory, charged to whom the thread works for
// (memory_charge.h). Weak, because the thread sanitizer brings its own.
#include <cstdlib>
#include <new>

#include "daemon/base/system/memory_charge.h"

#define SPDLD_WEAK __attribute__((weak))

namespace {

void* allocate(std::size_t bytes) {
  while (true) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

SPDLD_WEAK void* operator new(std::size_t bytes) {
  spdld::MemoryCharge::before_allocation(bytes);
  void* const memory = allocate(bytes);
  spdld::MemoryCharge::after_allocation(memory);
  return memory;
}

SPDLD_WEAK void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return ::operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}

SPDLD_WEAK void operator delete(void* memory) noexcept {
  spdld::MemoryCharge::before_release(memory);
  std::free(memory);
}

SPDLD_WEAK void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

SPDLD_WEAK void operator delete(void* memory, const std::nothrow_t&) noexcept { ::operator delete(memory); }
