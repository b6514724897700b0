#include "daemon/delivery/ring.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "tests/delivery/slots.h"

namespace spdld::ring_test {

using namespace spdld::delivery;
using spdld::batch::Batch;
using spdld::batch::Slot;
using spdld::memory::Access;
using spdld::sampler::Position;

namespace {

struct Trainer final : Reader {
  struct Sent {
    uint64_t step;
    uint32_t run;
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  std::vector<LeaseId> leases;
  std::vector<Sent> sent;
  void on_ready(const Batch& batch, uint64_t generation, uint32_t run) override {
    leases.push_back({batch.slot->index, generation});
    sent.push_back({batch.position.step, run});
  }
  void forget() { leases.clear(), sent.clear(); }
};
using Sents = std::vector<Trainer::Sent>;

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

TEST_CASE("a reader that never joined, or has left, changes nothing") {
  Ring ring = make_ring(2, 1);
  Trainer trainer, late;
  const auto gone = ring.join(late);
  ring.leave(gone);
  const auto id = ring.join(trainer);
  fill(ring, 0);
  for (const auto nobody : {gone, id + 7}) {
    ring.note_progress(nobody, 1, 1'000'000);
    ring.pause(nobody, 1, {}, {});
    ring.resume(nobody);
    ring.begin(nobody);
    ring.dismiss(nobody, {});
    CHECK(ring.behind(nobody) == 0);
  }
  CHECK(ring.statistics().starved_ns == 0);
  CHECK(late.sent.empty());
  CHECK(ring.release(id, trainer.leases.at(0)));
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
  ring.move(1);
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

TEST_CASE("a reader that is dismissed keeps no slot by a lease that it gave back before") {
  Ring ring = make_ring(1, 1);
  Trainer goes;
  const ReaderId in_goes = ring.join(goes);
  fill(ring, 0);
  CHECK(ring.release(in_goes, goes.leases[0]));
  fill(ring, 1);
  REQUIRE(goes.leases[1].slot == goes.leases[0].slot);
  const std::vector<LeaseId> earlier = {goes.leases[0]};
  ring.dismiss(in_goes, earlier);
  CHECK(ring.leases(in_goes) == 0);
  CHECK(ring.levels().free == 1);
}

TEST_CASE("a reader that is paused gets nothing and holds nobody back; where the ring moves each has its own run") {
  Ring ring = make_ring(2, 2);
  Trainer a, b;
  const ReaderId in_a = ring.join(a), in_b = ring.join(b);
  REQUIRE(fill(ring, 0));
  ring.pause(in_a, 3, a.leases, std::nullopt);
  CHECK_FALSE(ring.all_stay());
  for (uint64_t step = 1; step < 10; step++) {
    CHECK(ring.release(in_b, b.leases.back()));
    CHECK(fill(ring, step));  // one slot is a's, in hand
  }
  CHECK(a.sent == Sents{{0, 0}});
  CHECK(b.sent.size() == 10);
  ring.pause(in_b, 1, b.leases, std::nullopt);
  CHECK(ring.take_free() == nullptr);  // for nobody
  CHECK(ring.release(in_b, b.leases.back()));
  ring.move(1);
  ring.resume(in_a), ring.resume(in_b);
  CHECK_FALSE(ring.has_begun());
  a.sent.clear(), b.forget();
  CHECK(fill(ring, 7, 1));
  CHECK(ring.has_begun());
  CHECK(a.sent == Sents{{7, 3}});
  CHECK(b.sent == Sents{{7, 1}});
  CHECK(ring.release(in_a, a.leases[0]));  // a lease of before lives on
}

TEST_CASE("readers that are paused where they stand go on with what is there") {
  Ring ring = make_ring(4, 2);
  Trainer a, b;
  const ReaderId in_a = ring.join(a), in_b = ring.join(b);
  for (uint64_t step = 0; step < 3; step++) REQUIRE(fill(ring, step));
  const std::vector<LeaseId> of_a = a.leases, of_b = b.leases;
  // Each has 0 in hand, and stands at 1.
  a.forget(), b.forget();
  ring.pause(in_a, 1, std::vector{of_a[0]}, Position{0, 1});
  CHECK(ring.leases_of(in_a) == std::vector{of_a[0]});
  CHECK_FALSE(ring.release(in_a, of_a[1]));
  CHECK(fill(ring, 3));
  CHECK(b.sent == Sents{{3, 0}});
  ring.pause(in_b, 1, std::vector{of_b[0]}, Position{0, 1});
  ring.pause(in_a, 2, std::vector{of_a[0]}, Position{0, 1});  // once more
  CHECK(ring.all_stay());
  CHECK(ring.levels().free == 0);
  b.forget();
  ring.resume(in_a), ring.resume(in_b);
  CHECK(a.sent == Sents{{1, 2}, {2, 2}, {3, 2}});
  CHECK(b.sent == Sents{{1, 1}, {2, 1}, {3, 1}});
  CHECK(a.leases[0] == of_a[1]);  // as it was, and it is a lease anew
  for (const Trainer* trainer : {&a, &b}) {
    const ReaderId id = trainer == &a ? in_a : in_b;
    CHECK(ring.release(id, of_a[0]));
    for (const LeaseId& lease : trainer->leases) CHECK(ring.release(id, lease));
  }
  CHECK(ring.levels().free == 4);
  CHECK(fill(ring, 4));
  CHECK(a.sent.back() == Trainer::Sent{4, 2});
}

TEST_CASE("readers can't go on where one of them has given a batch back, or none is to come") {
  Ring ring = make_ring(4, 2);
  Trainer a, b;
  const ReaderId in_a = ring.join(a), in_b = ring.join(b);
  for (uint64_t step = 0; step < 4; step++) REQUIRE(fill(ring, step));
  SECTION("another one goes on") {
    ring.pause(in_a, 1, {}, Position{0, 0});
    CHECK(ring.levels().free == 0);
    CHECK(ring.release(in_b, b.leases[0]));
    CHECK(ring.levels().free == 1);  // a holds none of them back any more
    CHECK(fill(ring, 4));
    ring.pause(in_b, 1, {}, Position{0, 1});
    CHECK_FALSE(ring.all_stay());
    ring.move(1);
    CHECK(ring.levels().free == 4);
    CHECK(a.sent.size() == 4);
  }
  SECTION("it has gone on before") {
    CHECK(ring.release(in_b, b.leases[1]));
    CHECK(ring.release(in_a, a.leases[1]));
    ring.pause(in_a, 1, {}, Position{0, 1});
    ring.pause(in_b, 1, {}, Position{0, 1});
    CHECK_FALSE(ring.all_stay());
  }
  SECTION("nothing was filled yet, or the next comes there") {
    ring.pause(in_a, 1, {}, Position{0, 4});
    ring.pause(in_b, 1, {}, Position{0, 4});
    CHECK(ring.all_stay());
    ring.pause(in_b, 2, {}, std::nullopt);  // and it changes its mind
    CHECK_FALSE(ring.all_stay());
    ring.move(1);
    ring.pause(in_a, 2, {}, Position{0, 0});
    ring.pause(in_b, 3, {}, Position{0, 0});
    CHECK(ring.all_stay());
  }
  SECTION("one that leaves is not asked") {
    ring.pause(in_a, 1, {}, Position{0, 2});
    ring.leave(in_b);
    CHECK(ring.all_stay());
    ring.resume(in_a);
    CHECK(a.sent.back() == Trainer::Sent{3, 1});
  }
}

TEST_CASE(
    "a slot that is not being filled is neither filled nor given back: that would reach a trainer that reads it") {
  Ring ring = make_ring(2, 1);
  Trainer trainer;
  const ReaderId id = ring.join(trainer);
  Slot* const slot = ring.take_free();
  const Batch batch{slot, 0, {0, 0}, {0, 1}};
  ring.filled(batch);
  CHECK_THROWS_AS(ring.filled(batch), std::logic_error);
  CHECK_THROWS_AS(ring.given_back(*slot), std::logic_error);
  CHECK(ring.release(id, trainer.leases[0]));
  CHECK_THROWS_AS(ring.filled(batch), std::logic_error);
  CHECK(ring.take_free() == slot);
  ring.given_back(*slot);
  CHECK_THROWS_AS(ring.given_back(*slot), std::logic_error);
}

TEST_CASE("a reader that was dismissed takes no part any more, whatever is asked of it") {
  Ring ring = make_ring(4, 2);
  Trainer gone, stays;
  const ReaderId in_gone = ring.join(gone), in_stays = ring.join(stays);
  REQUIRE(fill(ring, 0));
  REQUIRE(fill(ring, 1));
  ring.pause(in_gone, 1, gone.leases, Position{0, 2});
  ring.dismiss(in_gone, std::vector{gone.leases[1]});
  ring.pause(in_gone, 2, {}, std::nullopt);
  ring.resume(in_gone), ring.begin(in_gone), ring.dismiss(in_gone, std::vector{gone.leases[1]});
  REQUIRE(fill(ring, 2));
  CHECK(gone.sent.size() == 2);
  CHECK(ring.leases(in_gone) == 1);
  // It stayed, and no one waits for that: the other goes on where it stands.
  ring.pause(in_stays, 1, std::vector{stays.leases[0], stays.leases[1]}, Position{0, 2});
  CHECK(ring.all_stay());
  ring.resume(in_stays), ring.resume(in_stays);
  CHECK(stays.sent.back() == Trainer::Sent{2, 1});
  CHECK(ring.release(in_stays, stays.leases.back()));
  CHECK(ring.release(in_gone, gone.leases[1]));
  CHECK(fill(ring, 3));
  CHECK(stays.sent.back() == Trainer::Sent{3, 1});
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

}  // namespace spdld::ring_test
