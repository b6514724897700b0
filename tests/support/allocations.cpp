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
}

namespace spdld::test {

bool counts_allocations() { return SPDLD_COUNTS_ALLOCATIONS; }
long allocations() { return counted; }

}  // namespace spdld::test

#if SPDLD_COUNTS_ALLOCATIONS

// In the place of glibc's, for the whole program and the libraries that it loads; operator new comes here as well.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) { return ++counted, __libc_malloc(size); }
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  return ++counted, __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t size) {
  return ++counted, __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  return ++counted, __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t alignment, size_t size) {
  ++counted;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

#endif
