#include "tests/support/fake_cuda/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace spdld::test::fake {

namespace {

constexpr const char* kFormat = "spdld-fake-cuda:%llx:%d:%llx";  // id, device, bytes

UniqueFd make_memory(uint64_t id, int device, uint64_t bytes) {
  char name[96];
  std::snprintf(name, sizeof name, kFormat, static_cast<unsigned long long>(id), device,
                static_cast<unsigned long long>(bytes));
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw std::system_error(errno, std::generic_category(), "memfd of device memory");
  return fd;
}

void* as_pointer(uint64_t address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

uint64_t as_address(const void* mapped) { return mapped == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(mapped); }

}  // namespace

unsigned char not_yet_copied() {
  static std::atomic<unsigned> count{0};
  return static_cast<unsigned char>(0xC0 | (count.fetch_add(1) & 0x3F));
}

Physical::Physical(uint64_t id_, int device_, uint64_t bytes_, Transport transport_)
    : Physical(id_, device_, bytes_, transport_, make_memory(id_, device_, bytes_)) {}

Physical::Physical(uint64_t id_, int device_, uint64_t bytes_, Transport transport_, UniqueFd fd_)
    : id(id_), device(device_), bytes(bytes_), transport(transport_), fd(std::move(fd_)) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of device memory");
  shadow_ = mapped;
}

Physical::~Physical() { ::munmap(const_cast<void*>(shadow_), bytes); }

// The bare system calls: a process may change its memory under a copy, and hear of it from the fake driver alone.
bool Physical::write(uint64_t offset, const void* source, uint64_t count) const {
  for (uint64_t done = 0; done < count;) {
    const long now = ::syscall(SYS_pwrite64, fd.get(), static_cast<const char*>(source) + done, count - done,
                               static_cast<long>(offset + done));
    if (now == 0 || (now < 0 && errno != EINTR)) return false;
    if (now > 0) done += static_cast<uint64_t>(now);
  }
  return true;
}

bool Physical::read(uint64_t offset, void* target, uint64_t count) const {
  for (uint64_t done = 0; done < count;) {
    const long now = ::syscall(SYS_pread64, fd.get(), static_cast<char*>(target) + done, count - done,
                               static_cast<long>(offset + done));
    if (now == 0 || (now < 0 && errno != EINTR)) return false;
    if (now > 0) done += static_cast<uint64_t>(now);
  }
  return true;
}

void Physical::fill(uint64_t offset, uint64_t count, unsigned char value) const {
  std::array<unsigned char, 64 << 10> block;
  block.fill(value);
  for (uint64_t done = 0; done < count; done += block.size())
    if (!write(offset + done, block.data(), std::min<uint64_t>(block.size(), count - done))) return;
}

uint64_t Physical::checksum(uint64_t offset, uint64_t count) const {
  return checksum_of(static_cast<const char*>(shadow_) + offset, count);
}

// Each word is spread by its place, so that words that change places are seen.
__attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined"))) uint64_t checksum_of(
    const void* bytes, uint64_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  uint64_t sum = count, place = 0x9e3779b97f4a7c15;
  for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    sum += (word ^ place) * 0xff51afd7ed558ccd;
    place += 0x9e3779b97f4a7c15;
  }
  for (; count > 0; --count, ++at) sum = (sum ^ *at) * 0x100000001b3;
  return sum;
}

bool identify(int fd, uint64_t* id, int* device, uint64_t* bytes) {
  char target[256];
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = 0;
  const char* name = std::strstr(target, "memfd:spdld-fake-cuda:");
  unsigned long long number = 0, size = 0;
  if (!name || std::sscanf(name + std::strlen("memfd:"), "spdld-fake-cuda:%llx:%d:%llx", &number, device, &size) != 3)
    return false;
  struct stat stat;
  *id = number;
  *bytes = size;
  return ::fstat(fd, &stat) == 0 && static_cast<uint64_t>(stat.st_size) == size;
}

uint64_t map_anywhere(const Physical& physical) {
  return as_address(::mmap(nullptr, physical.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical.fd.get(), 0));
}

uint64_t reserve_addresses(uint64_t bytes, uint64_t alignment) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const uint64_t start = as_address(::mmap(nullptr, bytes + alignment, PROT_NONE, kFlags, -1, 0));
  if (start == 0) return 0;
  const uint64_t base = (start + alignment - 1) / alignment * alignment;
  if (base > start) unmap(start, base - start);
  if (const uint64_t rest = start + alignment - base) unmap(base + bytes, rest);
  return base;
}

bool map_at(uint64_t address, uint64_t bytes, const Physical& physical, uint64_t offset) {
  return as_address(::mmap(as_pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical.fd.get(),
                           static_cast<off_t>(offset))) != 0;
}

bool unlock_at(uint64_t address, uint64_t bytes) {
  return ::mprotect(as_pointer(address), bytes, PROT_READ | PROT_WRITE) == 0;
}

bool vacate(uint64_t address, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return as_address(::mmap(as_pointer(address), bytes, PROT_NONE, kFlags, -1, 0)) != 0;
}

void unmap(uint64_t address, uint64_t bytes) { ::munmap(as_pointer(address), bytes); }

}  // namespace spdld::test::fake
