#include "tests/support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPDLD_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SPDLD_COUNTS_ALLOCATIONS 0
#endif
#endif
#if !defined(SPDLD_COUNTS_ALLOCATIONS) && defined(__GLIBC__)
#define SPDLD_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<long> counted{0};
std::atomic<long long> allocated{0}, peak{0};
}  // namespace

namespace spdld::test {

bool counts_allocations() { return SPDLD_COUNTS_ALLOCATIONS; }
long allocations() { return counted; }
long long allocated_bytes() { return allocated; }
long long allocated_peak_bytes() { return peak; }
void restart_peak() { peak = allocated.load(); }

}  // namespace spdld::test

#if SPDLD_COUNTS_ALLOCATIONS

// In the place of glibc's, for the whole program and the libraries that it loads; operator new comes here as well.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
size_t malloc_usable_size(void* memory);
}

namespace {

void add_bytes(long long bytes) {
  const long long now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  long long most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

void* noted(void* memory) {
  ++counted;
  if (memory != nullptr) add_bytes(static_cast<long long>(malloc_usable_size(memory)));
  return memory;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* malloc(size_t size) { return noted(__libc_malloc(size)); }
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  return noted(__libc_calloc(count, size));
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t size) {
  const auto before = static_cast<long long>(memory == nullptr ? 0 : malloc_usable_size(memory));
  void* const moved = __libc_realloc(memory, size);
  if (moved != nullptr || size == 0) add_bytes(-before);
  return noted(moved);
}
__attribute__((visibility("default"))) void free(void* memory) {
  if (memory != nullptr) add_bytes(-static_cast<long long>(malloc_usable_size(memory)));
  __libc_free(memory);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  return noted(__libc_memalign(alignment, size));
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t size) {
  return noted(__libc_memalign(alignment, size));
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = noted(__libc_memalign(alignment, size));
  return *memory == nullptr ? ENOMEM : 0;
}
}

#endif
