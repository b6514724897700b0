// Batches that are cut anew from other batches have every sample once and every byte right.
#include "daemon/batch/append.h"
#include "daemon/memory/host/host_slot.h"
#include "tests/batch/batches.h"

namespace spdld::append_test {

using namespace spdld;
using batch::Contents;
using batch::Layout;
using memory::SlotMemory;

namespace {

struct Filled {
  explicit Filled(const Layout& layout) : memory(layout.slot_bytes(), memory::Access::kWritable) {}
  memory::HostSlot memory;
  Contents contents;
};

void copy(Filled& to, const Filled& from, const std::vector<SlotMemory::CopiedRange>& parts, const batch::Rest& rest) {
  bool copied = false;
  to.memory.copy(from.memory, {parts, rest.literals}, [&](const Status& status) { copied = bool(status); });
  CHECK(copied);
}

}  // namespace

TEST_CASE("samples of batches of one size make batches of another size") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; round++) {
    const uint64_t multiple = 1 + random() % 4, own_size = 1 + random() % 9, first = random() % 50;
    const Layout theirs = test::ragged_layout(1 + random() % 9, multiple),
                 own = test::ragged_layout(own_size, multiple);
    Filled source(theirs), target(own);
    std::memset(target.memory.fill_address(), 0xee, own.slot_bytes());
    batch::clear(own, target.contents);
    const uint64_t count = 1 + random() % own_size;
    uint64_t to = 0, source_first = first - std::min(first, random() % 3);
    while (to < count) {
      const uint64_t from = first + to - source_first;
      if (from >= theirs.batch_size()) {
        source_first += theirs.batch_size();
        continue;
      }
      test::fill(theirs, source.contents, source.memory.fill_address(), source_first, theirs.batch_size());
      const uint64_t samples = std::min({count - to, theirs.batch_size() - from, 1 + random() % 4});
      std::vector<SlotMemory::CopiedRange> parts;
      batch::append(theirs, source.contents, own, target.contents, {from, to, samples}, parts);
      to += samples;
      copy(target, source, parts, to == count ? batch::finish(own, target.contents, count) : batch::Rest());
    }
    INFO("round " << round);
    test::check(own, target.contents, target.memory.fill_address(), first, count, multiple);
  }
}

TEST_CASE("rows of a fixed size are one copy for each tensor, and nothing is left to write") {
  using config::DType;
  const std::vector<batch::TensorPlace> tensors = {{"a", DType::kUint8, {3}, 3, 0}, {"b", DType::kInt64, {}, 8, 0}};
  const Layout theirs(tensors, 8, 1 << 20), own(tensors, 5, 1 << 20);
  Contents target;
  batch::clear(own, target);
  std::vector<SlotMemory::CopiedRange> parts;
  batch::append(theirs, {}, own, target, {2, 1, 4}, parts);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].from == 6);
  CHECK(parts[0].to == 3);
  CHECK(parts[0].bytes == 12);
  CHECK(parts[1].from == theirs.tensors()[1].offset + 16);
  CHECK(parts[1].to == own.tensors()[1].offset + 8);
  CHECK(parts[1].bytes == 32);
  CHECK(batch::finish(own, target, 5).literals.empty());
  CHECK(target.views.empty());
}

}  // namespace spdld::append_test
