#include "daemon/memory/host/host_memory.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "daemon/base/result.h"
#include "daemon/base/system/cpu.h"
#include "tests/support/soon.h"

namespace spdld::host_memory_test {

using spdld::memory::Access;
using spdld::memory::HostMemory;
using spdld::memory::MemoryKind;
using spdld::memory::SlotMemories;

namespace {

constexpr uint64_t kSlotBytes = 1 << 20;
constexpr HostMemory::Use kUse{1000, kSlotBytes, Access::kWritable, MemoryKind::kHost};

// A slot's memory is the same if its file is.
std::multiset<ino_t> inodes(const SlotMemories& memories) {
  std::multiset<ino_t> found;
  for (const auto& memory : memories) {
    struct stat status {};
    REQUIRE(fstat(memory->shared().fd, &status) == 0);
    found.insert(status.st_ino);
  }
  return found;
}

bool has_any(const std::multiset<ino_t>& of, const std::multiset<ino_t>& from) {
  return std::any_of(of.begin(), of.end(), [&](ino_t inode) { return from.contains(inode); });
}

size_t open_slots() {
  size_t count = 0;
  std::error_code gone;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd"))
    count += std::filesystem::read_symlink(fd, gone).string().find("memfd:spdld-slot") != std::string::npos;
  return count;
}

}  // namespace

TEST_CASE("a ring's memory is used again by its user's next ring of the same slots") {
  HostMemory memory(16 * kSlotBytes);
  SlotMemories first = memory.make_slots(kUse, 3);
  const auto before = inodes(first);
  memory.give_back(kUse, std::move(first), true);
  CHECK(memory.spare_bytes() == 3 * kSlotBytes);

  const SlotMemories second = memory.make_slots(kUse, 4);
  CHECK(second.size() == 4);
  CHECK(memory.spare_bytes() == 0);
  const auto after = inodes(second);
  CHECK(std::includes(after.begin(), after.end(), before.begin(), before.end()));
}

TEST_CASE("spare memory is for no other user, size, access or kind") {
  HostMemory memory(16 * kSlotBytes);
  SlotMemories first = memory.make_slots(kUse, 2);
  const auto before = inodes(first);
  memory.give_back(kUse, std::move(first), true);
  for (const HostMemory::Use& other : {HostMemory::Use{1001, kSlotBytes, Access::kWritable, MemoryKind::kHost},
                                       HostMemory::Use{1000, kSlotBytes / 2, Access::kWritable, MemoryKind::kHost},
                                       HostMemory::Use{1000, kSlotBytes, Access::kCopyOnWrite, MemoryKind::kHost},
                                       HostMemory::Use{1000, kSlotBytes, Access::kWritable, MemoryKind::kPinned}}) {
    const SlotMemories slots = memory.make_slots(other, 2);
    CHECK_FALSE(has_any(inodes(slots), before));
    CHECK(slots.front()->bytes() == other.slot_bytes);
    CHECK(slots.front()->kind() == other.kind);
  }
  CHECK(memory.spare_bytes() == 2 * kSlotBytes);
}

TEST_CASE("memory that may still be open at a trainer is not used again, but freed") {
  HostMemory memory(16 * kSlotBytes);
  memory.give_back(kUse, memory.make_slots(kUse, 2), false);
  CHECK(memory.spare_bytes() == 0);
  CHECK(test::soon([] { return open_slots() == 0; }));
}

TEST_CASE("spare memory stays inside its limit, and what is oldest goes first") {
  HostMemory memory(3 * kSlotBytes);
  SlotMemories old = memory.make_slots(kUse, 2), young = memory.make_slots(kUse, 2);
  const auto newest = inodes(young);
  memory.give_back(kUse, std::move(old), true);
  memory.give_back(kUse, std::move(young), true);
  CHECK(memory.spare_bytes() == 3 * kSlotBytes);
  CHECK(test::soon([] { return open_slots() == 3; }));
  memory.keep_at_most(2 * kSlotBytes);
  CHECK(memory.spare_bytes() == 2 * kSlotBytes);
  CHECK(inodes(memory.make_slots(kUse, 2)) == newest);
  CHECK(memory.spare_bytes() == 0);

  memory.give_back({1000, 4 * kSlotBytes, Access::kWritable, MemoryKind::kHost},
                   memory.make_slots({1000, 4 * kSlotBytes, Access::kWritable, MemoryKind::kHost}, 1), true);
  CHECK(memory.spare_bytes() == 0);  // larger than the limit by itself

  HostMemory none(0);
  none.give_back(kUse, none.make_slots(kUse, 1), true);
  CHECK(none.spare_bytes() == 0);
}

TEST_CASE("what nobody wants goes after its time") {
  HostMemory memory(16 * kSlotBytes);
  memory.give_back(kUse, memory.make_slots(kUse, 2), true);
  const uint64_t now_ns = spdld::monotonic_ns();
  memory.tick(now_ns);
  CHECK(memory.spare_bytes() == 2 * kSlotBytes);
  memory.tick(now_ns + HostMemory::kSpareNsMax);
  CHECK(memory.spare_bytes() == 0);
  CHECK(test::soon([] { return open_slots() == 0; }));
}

TEST_CASE("slots that can't be had leave nothing behind") {
  HostMemory memory(16 * kSlotBytes);
  const HostMemory::Use much{1000, 1ull << 60, Access::kWritable, MemoryKind::kHost};
  CHECK_THROWS_AS(memory.make_slots(much, 2), spdld::SetupError);
  CHECK(open_slots() == 0);
}

}  // namespace spdld::host_memory_test
