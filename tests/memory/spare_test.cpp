// The budget of spare slots over a long random run of rings that come, go and are refused, against a simple model.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <random>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/system/cpu.h"
#include "daemon/memory/host/host_memory.h"

namespace spdld::spare_test {

using namespace spdld;
using memory::HostMemory;
using memory::SlotMemories;

namespace {

constexpr uint64_t kPage = 4096;

ino_t inode_of(const memory::SlotMemory& slot) {
  struct stat status {};
  REQUIRE(::fstat(slot.shared().fd, &status) == 0);
  return status.st_ino;
}

// While it lives, this process can open no further file.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

// What HostMemory promises: which slots are spare, oldest first.
class Model {
 public:
  struct Spare {
    HostMemory::Use use;
    ino_t inode;
  };

  explicit Model(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes spare slots of this use out, the youngest first, and returns their inodes.
  std::vector<ino_t> take(const HostMemory::Use& use, size_t count) {
    std::vector<ino_t> taken;
    for (size_t i = spare_.size(); i-- > 0 && taken.size() < count;) {
      if (spare_[i].use != use) continue;
      taken.push_back(spare_[i].inode);
      spare_.erase(spare_.begin() + static_cast<ptrdiff_t>(i));
    }
    return taken;
  }
  void give_back(const HostMemory::Use& use, const std::vector<ino_t>& inodes) {
    if (use.slot_bytes > bytes_max_) return;
    for (const ino_t inode : inodes) spare_.push_back({use, inode});
    keep_at_most(bytes_max_);
    while (spare_.size() > HostMemory::kSpareSlotsMax) spare_.pop_front();
  }
  void keep_at_most(uint64_t bytes) {
    while (this->bytes() > bytes) spare_.pop_front();
  }
  void clear() { spare_.clear(); }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Spare& spare : spare_) sum += spare.use.slot_bytes;
    return sum;
  }

 private:
  const uint64_t bytes_max_;
  std::deque<Spare> spare_;
};

// The memory and the model side by side, and the rings that hold slots.
class ModelRun {
 public:
  ModelRun(uint64_t bytes_max, uint32_t seed) : memory_(bytes_max), model_(bytes_max), random_(seed) {}

  void step() {
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return open_ring();
      case 3:
      case 4:
      case 5:
        return close_ring();
      case 6:
        return be_refused();
      default:
        return make_way();
    }
  }
  void check() const { REQUIRE(memory_.spare_bytes() == model_.bytes()); }
  void end() {
    while (!rings_.empty()) close_ring();
    check();
    memory_.keep_at_most(0);
    CHECK(memory_.spare_bytes() == 0);
  }

 private:
  struct Ring {
    HostMemory::Use use;
    SlotMemories slots;
  };

  size_t below(size_t bound) { return random_() % bound; }
  HostMemory::Use some_use() {
    const auto owner = static_cast<uid_t>(1000 + below(2));
    return {owner, kPage << below(4), below(4) ? memory::Access::kWritable : memory::Access::kCopyOnWrite,
            memory::MemoryKind::kHost};
  }
  void open_ring() {
    const HostMemory::Use use = some_use();
    const size_t count = 1 + below(12);
    Ring ring{use, memory_.make_slots(use, count)};
    const std::vector<ino_t> reused = model_.take(use, count);
    REQUIRE(ring.slots.size() == count);
    for (size_t i = 0; i < reused.size(); ++i) REQUIRE(inode_of(*ring.slots[i]) == reused[i]);
    rings_.push_back(std::move(ring));
  }
  void close_ring() {
    if (rings_.empty()) return;
    std::swap(rings_[below(rings_.size())], rings_.back());
    Ring ring = std::move(rings_.back());
    rings_.pop_back();
    std::vector<ino_t> inodes;
    for (const auto& slot : ring.slots) inodes.push_back(inode_of(*slot));
    const bool closed = below(4) != 0;
    memory_.give_back(ring.use, std::move(ring.slots), closed);
    if (closed) model_.give_back(ring.use, inodes);
  }
  // What was spare for a ring that then can't be had is gone: it is counted no more.
  void be_refused() {
    const HostMemory::Use use = some_use();
    const size_t count = HostMemory::kSpareSlotsMax + 1;  // more than can be spare
    {
      const NoMoreFiles no_more;
      CHECK_THROWS_AS(memory_.make_slots(use, count), SetupError);
    }
    model_.take(use, count);
  }
  void make_way() {
    if (below(4) == 0) {
      memory_.tick(monotonic_ns() + HostMemory::kSpareNsMax);
      return model_.clear();
    }
    const uint64_t bytes = below(40) * kPage;
    memory_.keep_at_most(bytes);
    model_.keep_at_most(bytes);
  }

  HostMemory memory_;
  Model model_;
  std::mt19937 random_;
  std::vector<Ring> rings_;
};

}  // namespace

TEST_CASE("the budget of spare slots holds over rings that come, go and are refused") {
  const uint32_t seed = GENERATE(1u, 2u, 3u);
  const uint64_t bytes_max = GENERATE(0, 5 * kPage, 64 * kPage, 4096 * kPage);  // the last: the count of slots decides
  CAPTURE(seed, bytes_max);
  ModelRun run(bytes_max, seed);
  for (int i = 0; i < 600; ++i) {
    run.step();
    run.check();
  }
  run.end();
}

TEST_CASE("a slot that was lent is no later ring's") {
  HostMemory memory(1 << 20);
  const HostMemory::Use use{.owner = 7, .slot_bytes = 4096, .has_writers = true};
  auto slots = memory.make_slots(use, 2);
  CHECK(slots[1]->lend() >= 0);
  memory.give_back(use, std::move(slots), true);
  CHECK(memory.spare_bytes() == 4096);
}

TEST_CASE("no more slots are spare than may be open as files") {
  constexpr HostMemory::Use kUse{1000, kPage, memory::Access::kWritable, memory::MemoryKind::kHost};
  HostMemory memory(4 * HostMemory::kSpareSlotsMax * kPage);
  memory.give_back(kUse, memory.make_slots(kUse, HostMemory::kSpareSlotsMax + 20), true);
  CHECK(memory.spare_bytes() == HostMemory::kSpareSlotsMax * kPage);
}

}  // namespace spdld::spare_test
