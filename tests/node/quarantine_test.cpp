// Memory on a GPU whose trainer has left it open: who gets what, until the trainer's process has ended.
#include "daemon/node/seats/quarantine.h"

#include "tests/node/rig.h"

namespace spdld::quarantine_test {

using namespace spdld::test;

namespace {

constexpr uint64_t kStuckMs = node::Quarantine::kStuckNsMax / kMs;

class GpuRig : public SeatingRig {
 public:
  explicit GpuRig(uint32_t readers, const Wanted& wanted = {}) : SeatingRig(wanted), readers_(readers) {}

  Trainer& join(uint32_t replica, const FakeProcess& process) {
    client.process = process.pidfd();
    control::AttachRequest wanted = request("a");
    wanted.reader = replica, wanted.readers = readers_;
    wanted.gpus.push_back({memory::GpuUuid{1}, false});
    Trainer& trainer = attach(wanted);
    if (!awaited.empty()) give_device_slots();
    REQUIRE_FALSE(trainer.refusal);
    return trainer;
  }
  const node::Quarantine& quarantine() const { return seating.quarantine(); }

 private:
  const uint32_t readers_;
};

}  // namespace

TEST_CASE("memory that a trainer left open is kept until its process has ended") {
  GpuRig rig(1);
  FakeProcess process;
  Trainer& trainer = rig.join(0, process);
  REQUIRE(trainer.steps.size() == 6);
  const uint64_t bytes = rig.feeds()[0]->device_bytes();
  SECTION("the trainer detached and closed it") {
    trainer.detach();
    CHECK(rig.quarantine().size() == 0);
  }
  SECTION("its session ended, and the process lives") {
    trainer.die();
    rig.settle();
    CHECK(rig.feeds().empty());  // the ring is given up; the memory is not
    CHECK(rig.quarantine().size() == 1);
    CHECK(rig.quarantine().bytes_on("GPU-1") == bytes);
    CHECK(rig.quarantine().bytes_on("GPU-2") == 0);
    CHECK(rig.seating.ring_use().at(rig.client.uid).rings == 1);
    process.end();
    rig.settle();
    CHECK(rig.quarantine().size() == 0);
    CHECK(rig.seating.ring_use().empty());
  }
  SECTION("its session ended with the process") {
    process.end();
    trainer.die();
    CHECK(rig.quarantine().size() == 0);
  }
  SECTION("it went, and took nothing back but what it named") {
    const auto kept = trainer.held.front().lease;
    trainer.attachment->dismiss(std::vector{kept});
    CHECK(rig.quarantine().size() == 0);
    trainer.die();
    CHECK(rig.quarantine().size() == 1);
  }
  SECTION("it went, and gave the last batch back afterwards") {
    const auto kept = trainer.held.front().lease;
    trainer.attachment->dismiss(std::vector{kept});
    CHECK(trainer.attachment->release(kept, 1, 0));
    trainer.die();
    CHECK(rig.quarantine().size() == 0);
  }
}

TEST_CASE("a reader in quarantine that holds nothing goes with its process, and the others keep their ring") {
  GpuRig rig(2);
  FakeProcess ends, lives;
  Trainer &gone = rig.join(0, ends), &stays = rig.join(1, lives);
  for (FakeStream* stream : rig.streams) stream->holds = true;
  rig.consume(gone, 6);
  gone.die();
  CHECK(rig.quarantine().size() == 1);
  ends.end();
  rig.settle();
  CHECK(rig.quarantine().size() == 0);
  CHECK_FALSE(stays.failure);
  rig.consume(stays, 6);
  CHECK(rig.feeds()[0]->ring().levels().filling == 6);  // all slots, for the reader that is there
}

TEST_CASE("a ring that waits too long for memory in quarantine is given up, and its readers get another ring") {
  GpuRig rig(3);
  FakeProcess hangs, one, two;
  Trainer& gone = rig.join(0, hangs);
  Trainer *b = &rig.join(1, one), *c = &rig.join(2, two);
  gone.die();
  REQUIRE(rig.quarantine().size() == 1);
  rig.tick(0);
  rig.tick(kStuckMs - 1);
  CHECK_FALSE(b->failure);
  rig.tick(1);
  REQUIRE(b->failure);
  CHECK(b->failure->trouble == Trouble::kStopping);
  REQUIRE(c->failure);
  // Each leaves its seat and attaches anew while the other still sits in the ring that failed.
  b->detach();
  Trainer& new_b = rig.join(1, one);
  c->detach();
  Trainer& new_c = rig.join(2, two);
  FakeProcess fresh;
  Trainer& new_a = rig.join(0, fresh);
  CHECK(rig.feeds().size() == 1);
  for (const Trainer* trainer : {&new_a, &new_b, &new_c}) {
    CHECK_FALSE(trainer->failure);
    CHECK(trainer->steps.size() == 6);
  }
  CHECK(rig.quarantine().size() == 1);
  rig.tick(10 * kStuckMs);
  CHECK(new_b.failures == 0);
  CHECK(b->failures == 1);
}

TEST_CASE("a ring is not stuck while nobody sits in it, or the one who left holds nothing") {
  GpuRig rig(2);
  FakeProcess hangs, lives;
  Trainer &gone = rig.join(0, hangs), &stays = rig.join(1, lives);
  SECTION("it holds nothing") {
    for (FakeStream* stream : rig.streams) stream->holds = true;
    while (!gone.held.empty()) rig.consume(gone, 1);
    while (!stays.held.empty()) rig.consume(stays, 1);
    gone.die();
    REQUIRE(rig.quarantine().size() == 1);
    rig.tick(0), rig.tick(2 * kStuckMs);
    CHECK_FALSE(stays.failure);
  }
  SECTION("nobody sits there") {
    gone.die();
    stays.detach();
    rig.tick(0), rig.tick(2 * kStuckMs);
    CHECK_FALSE(stays.failure);
    CHECK(rig.quarantine().size() == 1);
  }
}

TEST_CASE("when the process has ended, its memory is not used again: the ring ends for the readers that are there") {
  GpuRig rig(2);
  FakeProcess hangs, lives;
  Trainer &gone = rig.join(0, hangs), &stays = rig.join(1, lives);
  gone.die();
  CHECK_FALSE(stays.failure);
  hangs.end();
  rig.settle();
  REQUIRE(stays.failure);
  CHECK(stays.failure->trouble == Trouble::kStopping);
  CHECK(rig.feeds().empty());
  CHECK(rig.quarantine().size() == 0);
  // It left the feeds at once: so it can attach before it has let go of its old seat.
  Trainer& anew = rig.join(1, lives);
  CHECK(anew.attachment);
  CHECK(rig.feeds().size() == 1);
}

}  // namespace spdld::quarantine_test
