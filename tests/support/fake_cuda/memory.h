// Device memory: a memfd an allocation, and where this process has it mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "proto/unique_fd.h"
#include "tests/support/fake_cuda/event.h"
#include "tests/support/fake_cuda/ledger.h"

namespace spdld::test::fake {

inline constexpr uint64_t kGranularity = 2u << 20;
// The byte that memory holds until its copy is done: another value each time, so that no value is taken for an earlier
// one.
unsigned char not_yet_copied();

// The memory itself, for as long as this process has it mapped or work on it is under way.
class Physical {
 public:
  Physical(uint64_t id, int device, uint64_t bytes, Transport transport);            // makes it
  Physical(uint64_t id, int device, uint64_t bytes, Transport transport, UniqueFd);  // another's
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  const uint64_t id;
  const int device;
  const uint64_t bytes;
  const Transport transport;
  const UniqueFd fd;

  // These work through the memfd, never through the process's own mappings, which may change at any time.
  void fill(uint64_t offset, uint64_t count, unsigned char value) const;
  bool write(uint64_t offset, const void* source, uint64_t count) const;  // false: the source is not mapped
  bool read(uint64_t offset, void* target, uint64_t count) const;
  uint64_t checksum(uint64_t offset, uint64_t count) const;

 private:
  const void* shadow_ = nullptr;  // mapped for reading
};

// The checksum of `count` bytes, unseen by sanitizers: it is there to find bytes that other threads change meanwhile.
uint64_t checksum_of(const void* bytes, uint64_t count);

// Identifies an exported file descriptor of device memory by its name. False: it is no such descriptor.
bool identify(int fd, uint64_t* id, int* device, uint64_t* bytes);

struct Context;

// A range of addresses of this process that is device memory.
struct Mapping {
  enum class Origin { kAllocated, kOpened, kVirtual };
  Origin origin;
  uint64_t base, bytes;
  uint64_t offset;  // in `physical`
  std::shared_ptr<Physical> physical;
  std::shared_ptr<Context> context;  // none: kVirtual
  bool usable = true;                // kVirtual: after cuMemSetAccess
  bool exported = false;
  uint32_t opened = 1;  // kOpened: how often
};

struct Reservation {
  uint64_t base, bytes;
};

// Pinned host memory.
struct Registration {
  uint64_t base, bytes;
  std::shared_ptr<Context> context;
  std::atomic<uint32_t> copies{0};  // under way
};

// Addresses of this process; 0 where the kernel refuses.
uint64_t map_anywhere(const Physical& physical);
uint64_t reserve_addresses(uint64_t bytes, uint64_t alignment);
bool map_at(uint64_t address, uint64_t bytes, const Physical& physical, uint64_t offset);  // not accessible yet
bool unlock_at(uint64_t address, uint64_t bytes);
bool vacate(uint64_t address, uint64_t bytes);  // reserved again
void unmap(uint64_t address, uint64_t bytes);

}  // namespace spdld::test::fake
