#include "daemon/delivery/ring.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "tests/delivery/slots.h"

using namespace spdld::delivery;
using spdld::batch::Batch;
using spdld::batch::Slot;
using spdld::memory::Access;

namespace {

struct Trainer final : Reader {
  std::vector<LeaseId> leases;
  void on_ready(const Batch& batch, uint64_t generation) override { leases.push_back({batch.slot->index, generation}); }
};

Ring make_ring(uint32_t slots, uint32_t readers, uint32_t held_max = 2) {
  return Ring(spdld::test::make_slots(slots), Access::kWritable, readers, held_max);
}

bool fill(Ring& ring, uint64_t step, uint32_t run = 0) {
  Slot* slot = ring.take_free();
  if (!slot) return false;
  ring.filled({slot, run, {0, step}, {step, 1}});
  return true;
}

}  // namespace

TEST_CASE("credit is free slots: a trainer that gives nothing back stops the stream") {
  Ring ring = make_ring(3, 1);
  Trainer trainer;
  const auto id = ring.join(trainer);
  CHECK(fill(ring, 0));
  CHECK(fill(ring, 1));
  CHECK(fill(ring, 2));
  CHECK_FALSE(fill(ring, 3));
  CHECK(ring.levels().ready == 3);
  CHECK(ring.release(id, trainer.leases[1]));
  CHECK(fill(ring, 3));
  CHECK(trainer.leases[3].slot == trainer.leases[1].slot);
  CHECK(trainer.leases[3].generation > trainer.leases[1].generation);
  CHECK(ring.full_ns() > 0);
}

TEST_CASE("a release of another generation, slot or reader changes nothing") {
  Ring ring = make_ring(2, 1);
  Trainer trainer;
  const auto id = ring.join(trainer);
  fill(ring, 0);
  const LeaseId lease = trainer.leases[0];
  CHECK_FALSE(ring.release(id, {lease.slot, lease.generation + 1}));
  CHECK_FALSE(ring.release(id, {lease.slot + 1, lease.generation}));
  CHECK_FALSE(ring.release(id, {77, lease.generation}));
  CHECK_FALSE(ring.release(id + 1, lease));
  CHECK(ring.release(id, lease));
  CHECK_FALSE(ring.release(id, lease));  // twice
}

TEST_CASE("a slot of several readers is free once all have given it back, or have gone") {
  Ring ring = make_ring(1, 3);
  Trainer a, b, c;
  const ReaderId in_a = ring.join(a), in_b = ring.join(b), in_c = ring.join(c);
  REQUIRE(fill(ring, 0));
  REQUIRE(a.leases.size() == 1);
  REQUIRE(c.leases.size() == 1);
  CHECK(ring.release(in_a, a.leases[0]));
  CHECK(ring.take_free() == nullptr);
  CHECK(ring.release(in_c, c.leases[0]));
  CHECK(ring.take_free() == nullptr);
  ring.leave(in_b);
  CHECK(ring.take_free() != nullptr);
}

TEST_CASE("batches of an older run are dropped, and their slots free") {
  Ring ring = make_ring(2, 1);
  Trainer trainer;
  ring.join(trainer);
  Slot* slot = ring.take_free();
  ring.set_run(1);
  ring.filled({slot, 0, {0, 0}, {0, 1}});
  CHECK(trainer.leases.empty());
  CHECK(ring.levels().free == 2);
  CHECK(fill(ring, 5, 1));
  CHECK(trainer.leases.size() == 1);
}

TEST_CASE("what a reader reports tells ready from held, and can't go backwards or beyond what was sent") {
  Ring ring = make_ring(4, 1);
  Trainer trainer;
  const auto id = ring.join(trainer);
  for (uint64_t step = 0; step < 4; step++) fill(ring, step);
  ring.note_progress(id, 3, 2000);
  CHECK(ring.levels().ready == 1);
  CHECK(ring.levels().held == 3);
  ring.note_progress(id, 1, 1000);
  CHECK(ring.levels().ready == 1);
  CHECK(ring.statistics().starved_ns == 2'000'000);
  ring.note_progress(id, UINT64_MAX, 2500);
  CHECK(ring.levels().ready == 0);
  CHECK(ring.statistics().starved_ns == 2'500'000);
}

TEST_CASE("a reader that is dismissed gets no further batch and keeps what it named") {
  Ring ring = make_ring(4, 2);
  Trainer goes, stays;
  const ReaderId in_goes = ring.join(goes), in_stays = ring.join(stays);
  for (uint64_t step = 0; step < 3; step++) fill(ring, step);
  const std::vector<LeaseId> keeps = {goes.leases[1]};
  ring.dismiss(in_goes, keeps);
  CHECK(ring.leases(in_goes) == 1);
  for (const LeaseId& lease : stays.leases) CHECK(ring.release(in_stays, lease));
  CHECK(ring.levels().free == 3);  // the slot of the lease that is kept is not filled anew
  CHECK(fill(ring, 3));
  CHECK(goes.leases.size() == 3);
  CHECK(stays.leases.size() == 4);
  CHECK_FALSE(ring.release(in_goes, goes.leases[0]));
  CHECK(ring.release(in_goes, keeps[0]));
  CHECK(ring.leases(in_goes) == 0);
  CHECK(ring.levels().free == 3);
}

TEST_CASE("whatever readers and the stream do, every slot is in exactly one place") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; round++) {
    const uint32_t readers = 1 + random() % 3;
    Ring ring = make_ring(1 + random() % 6, readers);
    std::vector<Trainer> trainers(readers);
    std::vector<Slot*> filling;
    uint64_t step = 0;
    std::vector<ReaderId> ids;
    for (auto& trainer : trainers) ids.push_back(ring.join(trainer));
    std::vector<bool> present(readers, true);
    for (int i = 0; i < 300; i++) {
      const uint32_t r = random() % readers;
      switch (random() % 5) {
        case 0:
        case 1:
          if (Slot* slot = ring.take_free()) filling.push_back(slot);
          break;
        case 2:
          if (!filling.empty()) {
            ring.filled({filling.back(), 0, {0, step}, {step, 1}});
            step++;
            filling.pop_back();
          }
          break;
        case 3:
          if (!trainers[r].leases.empty()) {
            const LeaseId lease = trainers[r].leases.back();
            trainers[r].leases.pop_back();
            CHECK(ring.release(ids[r], lease));
          }
          break;
        case 4:
          if (random() % 20 == 0 && present[r] && std::count(present.begin(), present.end(), true) > 1) {
            ring.leave(ids[r]);
            present[r] = false;
            trainers[r].leases.clear();
          }
          break;
      }
      std::set<uint32_t> leased;
      for (const auto& trainer : trainers)
        for (const auto& lease : trainer.leases) leased.insert(lease.slot);
      const auto levels = ring.levels();
      REQUIRE(levels.filling == filling.size());
      REQUIRE(levels.ready + levels.held == leased.size());
      REQUIRE(levels.free + levels.filling + leased.size() == ring.slots().size());
    }
  }
}
