#include "daemon/memory/host/host_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "daemon/base/result.h"

namespace spdld::host_slot_test {

using spdld::memory::Access;
using spdld::memory::HostSlot;

namespace {

constexpr uint64_t kBytes = 1 << 20;

size_t open_fds() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) count++;
  return count;
}

void* map(const HostSlot& slot, int protection, int flags) {
  return mmap(nullptr, slot.bytes(), protection, flags, slot.shared().fd, 0);
}

}  // namespace

TEST_CASE("what is written is what another mapping sees, and the size can't change") {
  HostSlot slot(kBytes, Access::kWritable);
  std::memset(slot.fill_address(), 7, kBytes);
  auto* seen = static_cast<uint8_t*>(map(slot, PROT_READ | PROT_WRITE, MAP_SHARED));
  REQUIRE(seen != MAP_FAILED);
  CHECK(seen[0] == 7);
  CHECK(seen[kBytes - 1] == 7);
  seen[5] = 8;  // the only reader may change its batch in place
  CHECK(slot.fill_address()[5] == 8);
  CHECK(ftruncate(slot.shared().fd, 0) == -1);
  CHECK(ftruncate(slot.shared().fd, 2 * kBytes) == -1);
  CHECK(fcntl(slot.shared().fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
  munmap(seen, kBytes);
}

TEST_CASE("a slot of several readers can't be written by them, only copied on write") {
  HostSlot slot(kBytes, Access::kCopyOnWrite);
  std::memset(slot.fill_address(), 1, kBytes);
  CHECK(map(slot, PROT_READ | PROT_WRITE, MAP_SHARED) == MAP_FAILED);
  auto* own = static_cast<uint8_t*>(map(slot, PROT_READ | PROT_WRITE, MAP_PRIVATE));
  REQUIRE(own != MAP_FAILED);
  own[0] = 9;
  CHECK(slot.fill_address()[0] == 1);
  slot.fill_address()[0] = 2;  // the daemon fills it anew
  CHECK(own[0] == 9);
  REQUIRE(madvise(own, kBytes, MADV_DONTNEED) == 0);
  CHECK(own[0] == 2);
  munmap(own, kBytes);
}

TEST_CASE("a slot that processes write into is read-only for its several readers, and writable where it is lent") {
  HostSlot slot(kBytes, Access::kCopyOnWrite, spdld::memory::MemoryKind::kHost, true);
  std::memset(slot.fill_address(), 1, kBytes);
  CHECK(map(slot, PROT_READ | PROT_WRITE, MAP_SHARED) == MAP_FAILED);
  CHECK(ftruncate(slot.shared().fd, 0) == -1);
  struct stat status {};
  REQUIRE(fstat(slot.shared().fd, &status) == 0);
  CHECK((status.st_mode & 0777) == S_IRUSR);  // who has it can't open it anew for writing
  auto* own = static_cast<uint8_t*>(map(slot, PROT_READ | PROT_WRITE, MAP_PRIVATE));
  REQUIRE(own != MAP_FAILED);
  CHECK(!slot.is_lent());
  const int lent = slot.lend();
  REQUIRE(lent >= 0);
  CHECK(slot.is_lent());
  auto* writer = static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, lent, 0));
  REQUIRE(writer != MAP_FAILED);
  writer[7] = 9;
  CHECK(slot.fill_address()[7] == 9);
  CHECK(own[7] == 9);
  munmap(writer, kBytes);
  munmap(own, kBytes);
}

TEST_CASE("a slot of one reader may be lent, and a sealed one may not") {
  HostSlot writable(kBytes, Access::kWritable), sealed(kBytes, Access::kCopyOnWrite);
  CHECK(writable.lend() == writable.shared().fd);
  CHECK(sealed.lend() == -1);
  CHECK(!sealed.is_lent());
}

TEST_CASE("nothing is left behind") {
  const size_t before = open_fds();
  for (int i = 0; i < 100; i++) HostSlot slot(kBytes, Access::kWritable);
  CHECK(open_fds() == before);
}

TEST_CASE("memory that can't be had is one sentence that says what to lower") {
  CHECK_THROWS_WITH(HostSlot(1ull << 60, Access::kWritable), Catch::Contains("batch.size"));
}

TEST_CASE("a host slot has no way to go to be published") {
  HostSlot slot(kBytes, Access::kWritable, spdld::memory::MemoryKind::kPinned);
  CHECK(slot.kind() == spdld::memory::MemoryKind::kPinned);
  CHECK(HostSlot(kBytes, Access::kWritable).kind() == spdld::memory::MemoryKind::kHost);
  CHECK(slot.shared().bytes == kBytes);
  const auto begun = slot.begin_fill([] {});
  REQUIRE(begun);
  CHECK(*begun);
  bool is_published = false;
  slot.publish({}, [&](const spdld::Status& status) { is_published = bool(status); });
  CHECK(is_published);
  CHECK(!slot.trouble());
}

}  // namespace spdld::host_slot_test
