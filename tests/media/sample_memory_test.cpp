#include "daemon/media/sample_memory.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/media/workspace.h"

namespace spdld::sample_memory_test {

using media::MemoryPart;
using media::SampleMemory;

namespace {

struct Lender final : SampleMemory::Lender {
  bool lend(uint64_t bytes) override {
    asked.push_back(bytes);
    return bytes <= most;
  }
  uint64_t most = 0;
  std::vector<uint64_t> asked;
};

// An object that is kept from sample to sample, and counts those of its kind that there are.
struct Kept {
  explicit Kept(const media::DecodeLimits& limits) : memory(limits.memory) { alive++; }
  ~Kept() { alive--; }
  void shrink(size_t) {}
  MemoryPart memory;
  static inline int alive = 0;
};

}  // namespace

TEST_CASE("a sample within the thread's own memory asks nobody", "[sample_memory]") {
  SampleMemory memory(1000);
  MemoryPart part(&memory), other(&memory);
  Lender lender;
  memory.begin(&lender, 0);
  CHECK(part.add(600));
  CHECK(other.add(400));
  CHECK(lender.asked.empty());
  CHECK(memory.lent_bytes() == 0);
  CHECK(memory.needed_bytes() == 1000);
  memory.begin(&lender, 0);  // of the next sample nothing counts yet
  CHECK(part.add(1000));
  CHECK(lender.asked.empty());
}

TEST_CASE("what a sample needs beyond it is lent, and all of it is asked for", "[sample_memory]") {
  SampleMemory memory(1000);
  MemoryPart part(&memory);
  Lender lender;
  lender.most = 500;
  memory.begin(&lender, 0);
  CHECK(part.add(1200));
  CHECK(part.add(300));
  CHECK(lender.asked == std::vector<uint64_t>{200, 500});
  CHECK_FALSE(memory.lacks_room());
  CHECK_FALSE(part.add(1));
  CHECK(memory.lacks_room());
  CHECK(memory.lent_bytes() == 501);
  // Nobody is asked again for this sample, whatever else it would take; but all of it is known.
  CHECK_FALSE(part.add(99));
  CHECK(memory.lent_bytes() == 600);
  CHECK(lender.asked.size() == 3);
}

TEST_CASE("a sample that was lent memory before it begins anew has it", "[sample_memory]") {
  SampleMemory memory(1000);
  MemoryPart part(&memory);
  Lender lender;
  memory.begin(&lender, 600);
  CHECK(part.add(1600));
  CHECK(lender.asked.empty());
  CHECK_FALSE(memory.lacks_room());
}

TEST_CASE("memory that an object uses again counts once, and what it adds counts each time", "[sample_memory]") {
  SampleMemory memory(1000);
  MemoryPart again(&memory), added(&memory);
  Lender lender;
  memory.begin(&lender, 0);
  CHECK(again.grow_to(300));
  CHECK(again.grow_to(200));
  CHECK(again.grow_to(400));
  CHECK(memory.needed_bytes() == 400);
  CHECK(added.add(100));
  CHECK(added.add(100));
  CHECK(memory.needed_bytes() == 600);
  memory.begin(&lender, 0);
  CHECK(again.grow_to(150));
  CHECK(memory.needed_bytes() == 150);
}

TEST_CASE("without a lender, and without anybody who counts, there is no bound", "[sample_memory]") {
  SampleMemory memory(10);
  MemoryPart part(&memory), nobodys(nullptr);
  memory.begin(nullptr, 0);
  CHECK(part.add(uint64_t{1} << 40));
  CHECK_FALSE(memory.lacks_room());
  CHECK(nobodys.add(uint64_t{1} << 40));
  CHECK(nobodys.grow_to(uint64_t{1} << 40));
}

TEST_CASE("the most that objects may have kept is known, and ends with them", "[sample_memory]") {
  SampleMemory memory(1000);
  MemoryPart first(&memory);
  {
    MemoryPart second(&memory);
    memory.begin(nullptr, 0);
    CHECK(first.add(300));
    CHECK(second.grow_to(500));
    CHECK(memory.kept_bytes() == 800);
    memory.begin(nullptr, 0);
    CHECK(first.add(200));  // as a part of what it has
    CHECK(memory.kept_bytes() == 800);
    memory.begin(nullptr, 0);
    CHECK(first.add(350));
    CHECK(memory.kept_bytes() == 850);
  }
  CHECK(memory.kept_bytes() == 350);
}

TEST_CASE("a thread whose objects may keep more than its own memory gives them back after the sample",
          "[sample_memory]") {
  media::Workspace workspace({}, 1000);
  workspace.memory().begin(nullptr, 0);
  CHECK(workspace.of<Kept>().memory.add(1000));
  CHECK_FALSE(workspace.end_sample());
  CHECK(Kept::alive == 1);
  workspace.memory().begin(nullptr, 0);
  CHECK(workspace.of<Kept>().memory.add(1001));
  CHECK(workspace.end_sample());
  CHECK(Kept::alive == 0);
  CHECK(workspace.memory().kept_bytes() == 0);
  workspace.memory().begin(nullptr, 0);
  CHECK(workspace.of<Kept>().memory.add(10));  // made anew
  CHECK(workspace.memory().kept_bytes() == 10);
}

}  // namespace spdld::sample_memory_test
