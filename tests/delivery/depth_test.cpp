// How far a ring is filled ahead of its readers, and that it never comes to a standstill for it.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

#include "daemon/delivery/ring.h"
#include "tests/delivery/slots.h"

namespace spdld::depth_test {

using namespace spdld::delivery;
using spdld::batch::Batch;
using spdld::batch::Slot;
using spdld::memory::Access;

namespace {

// As the client does it: what next() takes is told with the next release.
struct Trainer final : Reader {
  void on_ready(const Batch& batch, uint64_t generation, uint32_t) override {
    sent.push_back({batch.slot->index, generation});
  }
  bool next() {
    if (sent.empty()) return false;
    held.push_back(sent.front());
    sent.pop_front();
    taken++;
    return true;
  }
  void release(Ring& ring) {
    ring.note_progress(id, taken, 0);
    REQUIRE(ring.release(id, held.front()));
    held.pop_front();
  }
  ReaderId id = 0;
  uint64_t taken = 0;
  std::deque<LeaseId> sent, held;
};

Ring make_ring(uint32_t slots, uint32_t readers, uint32_t held_max) {
  return Ring(spdld::test::make_slots(slots), Access::kWritable, readers, held_max);
}

// All that there is room for.
uint32_t fill_all(Ring& ring) {
  uint32_t filled = 0;
  while (Slot* slot = ring.take_free()) {
    ring.filled({slot, 0, {0, filled}, {filled, 1}});
    filled++;
  }
  return filled;
}

}  // namespace

TEST_CASE("depth bounds what is filled and lies ready, beyond what the trainer may hold unseen") {
  Ring ring = make_ring(8, 1, 1);
  Trainer trainer;
  trainer.id = ring.join(trainer);
  ring.set_depth(2);
  Slot* one = ring.take_free();
  REQUIRE(one);
  CHECK(fill_all(ring) == 2);  // what is being filled counts as well
  CHECK(ring.take_free() == nullptr);
  ring.given_back(*one);
  CHECK(fill_all(ring) == 1);
  // A trainer that holds one: never more than two lie ready, once it has told what it took.
  for (int i = 0; i < 20; i++) {
    REQUIRE(trainer.next());
    if (trainer.held.size() == 2) trainer.release(ring);
    fill_all(ring);
    if (i > 3) CHECK(ring.levels().ready <= 3);
    CHECK(ring.levels().free >= 4);
  }
  ring.set_depth(99);
  CHECK(ring.depth() == 8);
  fill_all(ring);
  CHECK(ring.levels().free == 0);
  ring.set_depth(0);
  CHECK(ring.depth() == 1);
}

TEST_CASE("a trainer that holds all it may, without ever giving one back, gets its next batch at once") {
  const uint32_t held_max = GENERATE(1u, 2u, 5u);
  Ring ring = make_ring(held_max + 4, 1, held_max);
  Trainer trainer;
  trainer.id = ring.join(trainer);
  ring.set_depth(1);
  fill_all(ring);
  for (uint32_t i = 0; i < held_max; i++) REQUIRE(trainer.next());
  CHECK(trainer.next());
}

TEST_CASE("a trainer that holds more than was said is waited for by ticks once, and known from then on") {
  Ring ring = make_ring(8, 1, 2);
  Trainer trainer;
  trainer.id = ring.join(trainer);
  ring.set_depth(1);
  fill_all(ring);
  int ticks = 0;
  while (trainer.held.size() < 7) {
    if (trainer.next()) continue;
    REQUIRE(ticks++ < 8);
    if (ring.tick()) fill_all(ring);
  }
  CHECK(ticks > 0);
  for (int i = 0; i < 30; i++) {
    trainer.release(ring);
    fill_all(ring);
    REQUIRE(trainer.next());  // and no tick
  }
}

TEST_CASE("a slow trainer's ring goes back to its depth with the next release") {
  Ring ring = make_ring(8, 1, 1);
  Trainer trainer;
  trainer.id = ring.join(trainer);
  ring.set_depth(1);
  fill_all(ring);
  CHECK_FALSE(ring.tick());  // the first one only begins to watch
  for (int i = 0; i < 20; i++)
    if (ring.tick()) fill_all(ring);
  CHECK(ring.levels().free == 0);
  for (int i = 0; i < 8; i++) {
    REQUIRE(trainer.next());
    trainer.release(ring);
    fill_all(ring);
  }
  CHECK(ring.levels().ready == 2);
}

TEST_CASE("leases that a reader who has gone keeps take nothing from the depth of the others") {
  Ring ring = make_ring(8, 1, 1);
  Trainer gone, comes;
  gone.id = ring.join(gone);
  ring.set_depth(1);
  fill_all(ring);
  REQUIRE(gone.next());
  REQUIRE(gone.next());
  const std::vector<LeaseId> keeps(gone.held.begin(), gone.held.end());
  ring.dismiss(gone.id, keeps);
  comes.id = ring.join(comes);
  CHECK(fill_all(ring) == 2);
  CHECK(comes.next());
  CHECK(comes.next());
}

TEST_CASE("whatever readers hold, and whoever waits for whom, it goes on") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; round++) {
    const uint32_t readers = 1 + random() % 4, held_max = 1 + random() % 3, slots = held_max + 1 + random() % 5;
    Ring ring = make_ring(slots, readers, held_max);
    ring.set_depth(1 + random() % slots);
    const bool within = random() % 2;  // the readers hold no more than was said
    std::vector<Trainer> trainers(readers);
    std::vector<uint32_t> hold;
    for (auto& trainer : trainers) {
      trainer.id = ring.join(trainer);
      hold.push_back(within ? 1 + random() % held_max : 1 + random() % (slots - 1));
    }
    uint32_t ticks = 0;
    uint64_t goal = 60;
    for (uint64_t turns = 0; turns < 10'000; turns++) {
      if (random() % 50 == 0) ring.set_depth(1 + random() % slots);
      fill_all(ring);
      bool moved = false;
      uint64_t least = UINT64_MAX;
      for (const auto& trainer : trainers) least = std::min(least, trainer.taken);
      if (least >= goal) break;
      for (uint32_t i = 0; i < readers; i++) {
        // One that holds all it wants takes the next before it gives one back; in step with the others.
        if (trainers[i].taken > least) continue;
        moved |= trainers[i].next();
        while (trainers[i].held.size() > hold[i]) trainers[i].release(ring);
      }
      if (moved) continue;
      REQUIRE_FALSE(within);  // within bounds nobody waits for a tick
      REQUIRE(ticks++ < 60 * slots);
      ring.tick();
    }
    for (const auto& trainer : trainers) REQUIRE(trainer.taken >= goal);
  }
}

TEST_CASE("a ring that its depth keeps from being filled counts as full, and the lowest ready level is kept") {
  Ring ring = make_ring(8, 1, 1);
  Trainer trainer;
  trainer.id = ring.join(trainer);
  ring.set_depth(2);
  CHECK_FALSE(ring.take_ready_low());
  CHECK(ring.full_ns() == 0);
  fill_all(ring);
  CHECK(ring.full_ns() > 0);
  CHECK(ring.take_ready_low() == 0u);
  CHECK_FALSE(ring.take_ready_low());
  REQUIRE(trainer.next());
  trainer.release(ring);
  const uint64_t before_ns = ring.full_ns();
  CHECK(before_ns > 0);
  CHECK(ring.full_ns() == before_ns);  // there is room again
  fill_all(ring);
  CHECK(ring.take_ready_low() == 2u);
}

}  // namespace spdld::depth_test
