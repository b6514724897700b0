// The rows that a Tap copies, and a Tap alone where copies fail or come in any order.
#include "daemon/node/seats/tap.h"

#include <random>

#include "daemon/node/seats/row_copy.h"
#include "tests/node/rig.h"

namespace spdld::tap_test {

using namespace spdld::test;
using node::Tap;

namespace {

batch::Layout layout_of(uint64_t batch_size) {
  batch::TensorPlace number{.name = "number", .dtype = config::DType::kInt64, .sample_shape = {}, .sample_bytes = 8};
  batch::TensorPlace large{.name = "large", .dtype = config::DType::kUint8, .sample_shape = {300}, .sample_bytes = 300};
  return {{number, large}, batch_size, 1 << 20};
}

// Their ring as a Tap sees it: it counts what it is given back.
class FakeHold final : public control::Attachment {
 public:
  struct Seen {
    std::vector<delivery::LeaseId> released;
    bool dismissed = false, ended = false;
  };
  explicit FakeHold(Seen& seen) : seen_(seen) {}
  ~FakeHold() override { seen_.ended = true; }
  bool release(const delivery::LeaseId& lease, uint64_t, uint64_t) override {
    seen_.released.push_back(lease);
    return true;
  }
  void dismiss(std::span<const delivery::LeaseId>) override { seen_.dismissed = true; }
  bool holds_leases() const override { return false; }
  Status seek(const control::SeekRequest&) override { return Done{}; }
  Status push(const sampler::PushedSteps&) override { return Done{}; }

 private:
  Seen& seen_;
};

class TapRig final : public pipeline::FillObserver, public FakeFillers {
 public:
  explicit TapRig(uint64_t size)
      : pipelines({.samples = 40, .batch_size = 10, .epochs = 2}),
        theirs{{40, {.size = 10}, 0, 1}, layout_of(10)},
        own{{40, {.size = size}, 0, 1}, layout_of(size)},
        tap(loop, pipelines.pipeline, theirs, own, {}, *this, fillers().submit) {
    tap.take_seat(std::make_unique<FakeHold>(seen));
    for (uint32_t i = 0; i < 4; i++) slots.push_back({i, std::make_unique<FakeMemory>(rules, own.layout.slot_bytes())});
    for (uint32_t i = 0; i < 8; i++)
      their_slots.push_back({i, std::make_unique<FakeMemory>(rules, theirs.layout.slot_bytes())});
  }
  ~TapRig() {
    holds_copies = false;
    tap.stop();
    while (!copies.empty()) copy();
    loop.run_ready();
  }
  // Their next batch comes.
  void send() {
    const sampler::Position position{sent / 4, sent % 4};
    batch::Batch batch{&their_slots[sent % 8], 0, position, theirs.sharding.slice(position)};
    batch.substituted = {2}, batch.masked = {9};
    batch.flaws = {{2, batch::FlawKind::kDamaged, 0, "s", "bad"}};
    for (uint32_t i = 0; i < 10; i++)
      if (is_absent(batch.slice.first + i)) batch.absent.push_back(i);
    for (uint64_t index = 0; index < 10; index++) {
      if (batch.absent_in(index, 1) > 0) continue;
      const uint64_t i = batch.row_of(index);
      const int64_t number = number_of(position.epoch, batch.slice.first + index);
      std::memcpy(theirs.layout.sample_at(batch.slot->memory->fill_address(), 0, i), &number, sizeof(number));
      std::memset(theirs.layout.sample_at(batch.slot->memory->fill_address(), 1, i), static_cast<int>(number), 300);
    }
    tap.on_ready(batch, ++sent, 0);
    loop.run_ready();
  }
  bool fill(uint32_t slot) {
    const bool begun = tap.wants_slot() && tap.fill(slots[slot]);
    loop.run_ready();
    return begun;
  }
  // Checks every row of a batch that was handed on.
  void check(const batch::Batch& batch) const {
    for (uint64_t index = 0; index < batch.slice.count; index++) {
      REQUIRE(is_absent(batch.slice.first + index) == (batch.absent_in(index, 1) > 0));
      if (batch.absent_in(index, 1) > 0) continue;
      const uint64_t i = batch.row_of(index);
      int64_t number = 0;
      std::memcpy(&number, own.layout.sample_at(batch.slot->memory->fill_address(), 0, i), sizeof(number));
      REQUIRE(number == number_of(batch.position.epoch, batch.slice.first + index));
      const uint8_t* const large = own.layout.sample_at(batch.slot->memory->fill_address(), 1, i);
      REQUIRE(std::all_of(large, large + 300, [&](uint8_t byte) { return byte == static_cast<uint8_t>(number); }));
    }
  }
  void on_batch(const batch::Batch& batch) override { batches.push_back(batch); }
  void on_abandoned(batch::Slot& slot) override { abandoned.push_back(slot.index); }
  void on_failed(const Error&) override { FAIL("a Tap never fails"); }
  void on_quiet() override { quiet++; }
  void on_wanting() override { wanting++; }

  std::function<bool(uint64_t position)> is_absent = [](uint64_t) { return false; };
  PipelineRig pipelines;
  EventLoop loop;
  const Tap::Cut theirs, own;
  std::shared_ptr<FakeMemory::Rules> rules = std::make_shared<FakeMemory::Rules>();
  std::vector<batch::Slot> slots, their_slots;
  FakeHold::Seen seen;
  std::vector<batch::Batch> batches;
  std::vector<uint32_t> abandoned;
  uint64_t sent = 0;
  int quiet = 0, wanting = 0;
  Tap tap;
};

}  // namespace

TEST_CASE("a turn of copying has a bounded number of bytes") {
  CHECK(node::rows_per_turn(layout_of(10)) == (4u << 20) / 308);
  CHECK(node::rows_per_turn({}) == 4u << 20);
}

TEST_CASE("marks and flaws go with their rows, and others stay behind") {
  batch::Batch from, to;
  from.substituted = {0, 3, 5, 6}, from.masked = {2, 5};
  from.flaws = {{3, batch::FlawKind::kDamaged, 30, "three", "bad"}, {6, batch::FlawKind::kDamaged, 60, "six", "bad"}};
  to.substituted = {0};
  node::add_marks({3, 1, 3}, from, to);
  CHECK(to.substituted == std::vector<uint32_t>{0, 1, 3});
  CHECK(to.masked == std::vector<uint32_t>{3});
  REQUIRE(to.flaws.size() == 1);
  CHECK(to.flaws[0].index == 1);
  CHECK(to.flaws[0].name == "three");
}

TEST_CASE("a Tap copies each batch in parts, gives every batch of theirs back, and asks for no slot without samples") {
  TapRig rig(4);
  CHECK_FALSE(rig.tap.wants_slot());
  CHECK(rig.tap.copies());
  rig.send();
  CHECK(rig.wanting == 1);
  CHECK(rig.fill(0));
  CHECK(rig.fill(1));
  CHECK(rig.fill(2));
  CHECK_FALSE(rig.tap.wants_slot());  // the third waits for their next batch
  CHECK(rig.batches.size() == 2);
  CHECK(rig.seen.released.size() == 1);
  rig.send();
  REQUIRE(rig.batches.size() == 3);
  for (const auto& batch : rig.batches) rig.check(batch);
  CHECK(rig.batches[0].substituted == std::vector<uint32_t>{2});
  CHECK(rig.batches[2].masked == std::vector<uint32_t>{1});
  CHECK(rig.batches[2].position == Position{0, 2});
  rig.tap.on_seek_refused(1, {Trouble::kUsage, "none of a Tap's"});
  CHECK_FALSE(rig.tap.has_gone());
  CHECK(rig.tap.state() == Tap::State::kCopying);
}

TEST_CASE("a Tap copies the rows that are there, where samples of theirs are absent") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  const uint64_t size = GENERATE(4u, 8u, 10u, 20u);
  std::mt19937 random(seed);
  std::vector<bool> absent(40);
  for (size_t i = 0; i < absent.size(); i++) absent[i] = random() % 4 < seed || (10 <= i && i < 20);
  TapRig rig(size);
  rig.is_absent = [&](uint64_t position) { return absent[position]; };
  size_t filled = 0, checked = 0;
  uint64_t rows = 0;
  const auto check_new = [&] {  // before their slots are filled again
    for (; checked < rig.batches.size(); checked++) {
      rig.check(rig.batches[checked]);
      rows += rig.batches[checked].valid();
    }
  };
  for (int step = 0; step < 4; step++) {
    rig.send();
    check_new();
    while (rig.fill(static_cast<uint32_t>(filled % 4))) {
      filled++;
      check_new();
    }
  }
  CHECK(checked == 40 / size);
  CHECK(rows == static_cast<uint64_t>(std::count(absent.begin(), absent.end(), false)));
}

TEST_CASE("a copy that fails ends the Tap: whole batches before it are handed on, and nothing behind it") {
  TapRig rig(4);
  rig.holds_copies = true;
  rig.send();
  REQUIRE(rig.fill(0));
  REQUIRE(rig.fill(1));
  REQUIRE(rig.copies.size() == 2);
  SECTION("the second fails, and the first is still under way") {
    std::swap(rig.copies[0], rig.copies[1]);
    rig.rules->copies_fail = true;
    rig.copy();
    rig.rules->copies_fail = false;
    rig.loop.run_ready();
    CHECK(rig.tap.state() == Tap::State::kEnding);
    CHECK(rig.abandoned == std::vector<uint32_t>{1});
    CHECK(rig.quiet == 0);
    CHECK_FALSE(rig.fill(2));
    rig.copy();
    rig.loop.run_ready();
    CHECK(rig.batches.size() == 1);
    CHECK(rig.tap.next() == Position{0, 1});
  }
  SECTION("the first fails, and the second has all its samples") {
    rig.rules->copies_fail = true;
    rig.copy();
    rig.rules->copies_fail = false;
    rig.copy();
    rig.loop.run_ready();
    CHECK(rig.batches.empty());
    CHECK(rig.abandoned == std::vector<uint32_t>{0, 1});
    CHECK(rig.tap.next() == Position{0, 0});
  }
  SECTION("it was ending already") {
    rig.tap.on_failed({Trouble::kContent, "their ring failed"});
    rig.rules->copies_fail = true;
    rig.copy(), rig.copy();
    rig.loop.run_ready();
    CHECK(rig.tap.next() == Position{0, 0});
    CHECK(rig.batches.empty());
  }
  CHECK(rig.quiet == 1);
  CHECK(rig.tap.state() == Tap::State::kQuiet);
  CHECK(rig.seen.dismissed);
  CHECK(rig.seen.ended);
  CHECK(rig.seen.released.size() == 1);
  rig.tap.stop();
  rig.loop.run_ready();
  CHECK(rig.quiet == 1);
}

TEST_CASE("a batch of theirs that is left out ends the Tap, which never hands on a gap") {
  TapRig rig(8);
  rig.send();
  REQUIRE(rig.fill(0));
  REQUIRE(rig.fill(1));
  rig.sent++;  // lost
  rig.send();
  CHECK(rig.tap.state() == Tap::State::kQuiet);
  CHECK(rig.batches.size() == 1);
  CHECK(rig.tap.next() == Position{0, 1});
}

TEST_CASE("a Tap fills no step past the end of the run") {
  TapRig rig(10);
  uint32_t slot = 0;
  for (int i = 0; i < 8; i++) {
    rig.send();
    CHECK(rig.fill(slot++ % 4));
  }
  CHECK(rig.batches.size() == 8);
  CHECK(rig.tap.next() == Position{2, 0});
  CHECK_FALSE(rig.tap.fill(rig.slots[0]));
}

TEST_CASE("whatever the sizes and the order of the copies, each sample comes once, at its place") {
  std::mt19937 random(5);
  for (int round = 0; round < 60; round++) {
    TapRig rig(1 + random() % 15);
    rig.holds_copies = true;
    std::deque<uint32_t> free = {0, 1, 2, 3};
    size_t handed = 0;
    for (int i = 0; i < 4000 && (rig.tap.next() != Position{2, 0} || free.size() < 4); i++) {
      const auto choice = random() % 4;
      if (choice == 0 && rig.sent < 8 && rig.sent < rig.seen.released.size() + 4) rig.send();
      if (choice == 1 && !free.empty() && rig.fill(free.front())) free.pop_front();
      if (choice > 1 && !rig.copies.empty()) {
        std::swap(rig.copies.front(), rig.copies[random() % rig.copies.size()]);
        rig.copy();
        rig.loop.run_ready();
      }
      for (; handed < rig.batches.size(); handed++) {
        rig.check(rig.batches[handed]);
        free.push_back(rig.batches[handed].slot->index);
      }
    }
    REQUIRE(handed == 2 * rig.own.sharding.steps());
    REQUIRE(rig.seen.released.size() == 8);
    REQUIRE(rig.abandoned.empty());
  }
}

}  // namespace spdld::tap_test
