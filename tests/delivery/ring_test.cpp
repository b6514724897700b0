#include "daemon/delivery/ring.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "daemon/memory/host/host_slot.h"

using spdld::batch::Batch;
using spdld::batch::Slot;
using spdld::delivery::Reader;
using spdld::delivery::Ring;
using spdld::memory::Access;
using spdld::memory::HostSlot;

namespace {

struct Lease {
  uint32_t slot;
  uint64_t generation;
  uint64_t step;
};

struct Trainer final : Reader {
  std::vector<Lease> leases;
  void on_ready(const Batch& batch, uint64_t generation) override {
    leases.push_back({batch.slot->index, generation, batch.position.step});
  }
};

Ring make_ring(uint32_t slots, uint32_t readers) {
  std::vector<Slot> made;
  for (uint32_t i = 0; i < slots; i++) made.push_back({i, std::make_unique<HostSlot>(4096, Access::kWritable)});
  return Ring(std::move(made), Access::kWritable, readers);
}

bool fill(Ring& ring, uint64_t step, uint32_t run = 0) {
  Slot* slot = ring.take_free();
  if (!slot) return false;
  ring.filled({slot, run, {0, step}, {step, 1}, 0, 0, 0});
  return true;
}

}  // namespace

TEST_CASE("credit is free slots: a trainer that gives nothing back stops the stream") {
  Ring ring = make_ring(3, 1);
  Trainer trainer;
  ring.join(0, trainer);
  CHECK(fill(ring, 0));
  CHECK(fill(ring, 1));
  CHECK(fill(ring, 2));
  CHECK_FALSE(fill(ring, 3));
  CHECK(ring.levels().ready == 3);
  CHECK(ring.release(0, trainer.leases[1].slot, trainer.leases[1].generation));
  CHECK(fill(ring, 3));
  CHECK(trainer.leases[3].slot == trainer.leases[1].slot);
  CHECK(trainer.leases[3].generation > trainer.leases[1].generation);
  CHECK(ring.full_ns() > 0);
}

TEST_CASE("a release of another generation, slot or reader changes nothing") {
  Ring ring = make_ring(2, 1);
  Trainer trainer;
  ring.join(0, trainer);
  fill(ring, 0);
  const Lease lease = trainer.leases[0];
  CHECK_FALSE(ring.release(0, lease.slot, lease.generation + 1));
  CHECK_FALSE(ring.release(0, lease.slot + 1, lease.generation));
  CHECK_FALSE(ring.release(0, 77, lease.generation));
  CHECK_FALSE(ring.release(1, lease.slot, lease.generation));
  CHECK(ring.release(0, lease.slot, lease.generation));
  CHECK_FALSE(ring.release(0, lease.slot, lease.generation));  // twice
}

TEST_CASE("a slot of several readers is free once all have given it back, or have gone") {
  Ring ring = make_ring(1, 3);
  Trainer a, b, c;
  ring.join(0, a), ring.join(1, b), ring.join(2, c);
  REQUIRE(fill(ring, 0));
  REQUIRE(a.leases.size() == 1);
  REQUIRE(c.leases.size() == 1);
  CHECK(ring.release(0, a.leases[0].slot, a.leases[0].generation));
  CHECK(ring.take_free() == nullptr);
  CHECK(ring.release(2, c.leases[0].slot, c.leases[0].generation));
  CHECK(ring.take_free() == nullptr);
  ring.leave(1);
  CHECK(ring.take_free() != nullptr);
}

TEST_CASE("batches of an older run are dropped, and their slots free") {
  Ring ring = make_ring(2, 1);
  Trainer trainer;
  ring.join(0, trainer);
  Slot* slot = ring.take_free();
  ring.set_run(1);
  ring.filled({slot, 0, {0, 0}, {0, 1}, 0, 0, 0});
  CHECK(trainer.leases.empty());
  CHECK(ring.levels().free == 2);
  CHECK(fill(ring, 5, 1));
  CHECK(trainer.leases.size() == 1);
}

TEST_CASE("what a reader reports tells ready from held, and can't go backwards or beyond what was sent") {
  Ring ring = make_ring(4, 1);
  Trainer trainer;
  ring.join(0, trainer);
  for (uint64_t step = 0; step < 4; step++) fill(ring, step);
  ring.note_progress(0, 3, 2000);
  CHECK(ring.levels().ready == 1);
  CHECK(ring.levels().held == 3);
  ring.note_progress(0, 1, 1000);
  CHECK(ring.levels().ready == 1);
  CHECK(ring.statistics().starved_ns == 2'000'000);
  ring.note_progress(0, UINT64_MAX, 2500);
  CHECK(ring.levels().ready == 0);
  CHECK(ring.statistics().starved_ns == 2'500'000);
}

TEST_CASE("whatever readers and the stream do, every slot is in exactly one place") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; round++) {
    const uint32_t readers = 1 + random() % 3;
    Ring ring = make_ring(1 + random() % 6, readers);
    std::vector<Trainer> trainers(readers);
    std::vector<Slot*> filling;
    uint64_t step = 0;
    for (uint32_t r = 0; r < readers; r++) ring.join(r, trainers[r]);
    for (int i = 0; i < 300; i++) {
      const uint32_t r = random() % readers;
      switch (random() % 5) {
        case 0:
        case 1:
          if (Slot* slot = ring.take_free()) filling.push_back(slot);
          break;
        case 2:
          if (!filling.empty()) {
            ring.filled({filling.back(), 0, {0, step}, {step, 1}, 0, 0, 0});
            step++;
            filling.pop_back();
          }
          break;
        case 3:
          if (!trainers[r].leases.empty()) {
            const Lease lease = trainers[r].leases.back();
            trainers[r].leases.pop_back();
            CHECK(ring.release(r, lease.slot, lease.generation) == ring.has(r));
          }
          break;
        case 4:
          if (random() % 20 == 0 && ring.has(r) && ring.present() > 1) {
            ring.leave(r);
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
