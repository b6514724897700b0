#include "daemon/cache/memory/mapping.h"

#include <sys/mman.h>

namespace spdld::cache {
namespace {

constexpr uint64_t kHugePageBytes = 2u << 20;

uint8_t* map(uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

// The kernel gives huge pages to aligned memory alone: more is mapped than is asked for, and both ends are cut off.
uint8_t* map_aligned(uint64_t bytes) {
  uint8_t* memory = map(bytes + kHugePageBytes);
  if (!memory) return nullptr;
  const uint64_t before = (kHugePageBytes - reinterpret_cast<uintptr_t>(memory) % kHugePageBytes) % kHugePageBytes;
  if (before != 0) ::munmap(memory, before);
  if (before != kHugePageBytes) ::munmap(memory + before + bytes, kHugePageBytes - before);
  ::madvise(memory + before, bytes, MADV_HUGEPAGE);
  return memory + before;
}

}  // namespace

Mapping::Mapping(uint64_t bytes) : memory_(bytes >= kHugePageBytes ? map_aligned(bytes) : map(bytes)) {
  if (!memory_) return;
  bytes_ = bytes;
  ::madvise(memory_, bytes, MADV_DONTDUMP);
}

Mapping::~Mapping() {
  if (memory_) ::munmap(memory_, bytes_);
}

}  // namespace spdld::cache
