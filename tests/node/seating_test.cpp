// Which trainer gets which seat, and what becomes of it.
#include "daemon/node/seats/seating.h"

#include "tests/node/rig.h"

namespace spdld::seating_test {

using namespace spdld::test;

TEST_CASE("a trainer gets a ring of its own, and the ring goes with its last reader") {
  SeatingRig rig;
  Trainer& trainer = rig.attach("a");
  REQUIRE(trainer.attachment);
  CHECK(rig.is_in_use);
  CHECK(trainer.steps == std::vector<uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(trainer.info->slots.size() == 6);
  CHECK(trainer.info->access == memory::Access::kWritable);
  CHECK_FALSE(trainer.info->shared);
  rig.consume(trainer, 3);
  CHECK(trainer.numbers.size() == 90);
  trainer.detach();
  CHECK(rig.feeds().empty());
  CHECK_FALSE(rig.is_in_use);
  CHECK_FALSE(rig.seating.at_rest());
  CHECK(rig.seating.is_stopping(*rig.pipeline()));
  rig.settle();
  CHECK(rig.seating.at_rest());
  CHECK(rig.rests == 1);
  CHECK(rig.seating.ring_use().empty());
}

TEST_CASE("a second job, and another rank, get rings of their own; a user's groups are no other user's") {
  SeatingRig rig;
  rig.attach("a");
  Trainer& b = rig.attach("b");
  CHECK(b.steps.front() == 0);
  CHECK(rig.feeds().size() == 2);
  const Trainer& first = rig.attach(rig.request("c", 0, 2));
  const Trainer& second = rig.attach(rig.request("c", 1, 2));
  CHECK(first.numbers.front() == 0);
  CHECK(second.numbers.front() == 10);
  rig.client.uid = 1002;
  const Trainer& other = rig.attach(rig.request("a", 0, 2));  // another world size: another job
  CHECK(other.attachment);
  CHECK(rig.feeds().size() == 5);
}

TEST_CASE("a rank that is taken, another world size and another global batch are refused with what to do") {
  SeatingRig rig;
  rig.attach(rig.request("a", 0, 2));
  CHECK(rig.refusal(rig.request("a", 0, 2)).find("is held by trainer, pid 101") != std::string::npos);
  CHECK(rig.refusal(rig.request("a", 1, 4)).find("is here with world_size 2, not 4") != std::string::npos);
  auto other = rig.request("a", 1, 2);
  other.batch_size = 20;
  CHECK(rig.refusal(other).find("is here with a global batch of 20 samples, not 40") != std::string::npos);
  other.batch_size = 0, other.readers = 2;
  CHECK(rig.refusal(other) == "");  // another rank may have replicas
  other = rig.request("a", 0, 2), other.readers = 2;
  CHECK(rig.refusal(other).find("has 1 replica on this node") != std::string::npos);
  rig.client.pid = 100;  // the next is 101
  CHECK(rig.refusal(rig.request("a", 0, 2)).find("another loader of this same process (pid 101)") != std::string::npos);
  CHECK(rig.feeds().size() == 2);
}

TEST_CASE("replicas share a ring, each with a number of its own, and a seat that is free is taken anew") {
  SeatingRig rig;
  auto request = rig.request("a");
  request.readers = 2;
  Trainer& a = rig.attach(request);
  CHECK(a.steps.empty());
  CHECK(rig.refusal(request).find("has a replica 0 of 2 already") != std::string::npos);
  request.reader = 1;
  Trainer& b = rig.attach(request);
  CHECK(b.steps.size() == 6);
  CHECK(a.steps == b.steps);
  CHECK(a.info->access == memory::Access::kCopyOnWrite);
  CHECK(rig.feeds().size() == 1);
  b.die();
  CHECK(rig.feeds().size() == 1);
  rig.consume(a, 6);
  CHECK(a.steps.size() == 12);  // nobody waits for a reader that has gone
  Trainer& c = rig.attach(request);
  CHECK(c.info->position == Position{0, 12});
  rig.consume(a, 1);
  CHECK(c.steps == std::vector<uint64_t>{12});
  a.die(), c.die();
  CHECK(rig.feeds().empty());
}

TEST_CASE("a job that was killed and started again takes over its seats, even with another world size") {
  SeatingRig rig;
  Trainer& old = rig.attach(rig.request("a", 0, 2));
  rig.attach(rig.request("a", 1, 2)).gone = true;
  CHECK(rig.refusal(rig.request("a", 0, 2)).find("is held by") != std::string::npos);
  CHECK(rig.feeds().size() == 1);  // the trainer that has gone was evicted
  old.gone = true;
  Trainer& anew = rig.attach(rig.request("a", 0, 1));
  CHECK(anew.attachment);
  CHECK(rig.feeds().size() == 1);
  old.attachment.reset();  // the news of its death comes late
  CHECK(rig.feeds().size() == 1);
  rig.consume(anew, 4);
  CHECK(anew.steps.size() == 10);
}

TEST_CASE("a position of another run, or past the end, is refused") {
  SeatingRig rig({.samples = 100, .batch_size = 10, .epochs = 2});
  auto request = rig.request("a");
  request.position = {1, 3};
  CHECK(rig.attach(request).steps.front() == 3);
  request.group = "b", request.position = {0, 10};  // the end of an epoch is the next one's beginning
  CHECK(rig.attach(request).held.front().position == Position{1, 0});
  request.group = "c", request.position = {0, 11};
  CHECK(rig.refusal(request).find("step 11 is past the end: an epoch has 10 steps, the run 2 epochs") !=
        std::string::npos);
  request.position = {3, 0};
  CHECK_FALSE(rig.refusal(request).empty());
  request.position = {2, 0};
  CHECK(rig.refusal(request).empty());  // at the end: no batch comes
  CHECK(rig.trainers.back()->steps.empty());
  request.group = "d", request.position = {}, request.fingerprint = "1-2-3-4";
  CHECK(rig.refusal(request).find("the position belongs to another run") != std::string::npos);
  // The digests of the run's keys, as ATTACHED gave them, only make the sentence clearer.
  const std::string digests = rig.pipeline()->key_digests();
  REQUIRE(digests.find("seed=") != std::string::npos);
  request.key_digests =
      digests.substr(0, digests.find("seed=") + 5) + "AAAAAAAAAAB" + digests.substr(digests.find("seed=") + 16);
  CHECK(rig.refusal(request).find(" (seed has another value)") != std::string::npos);
  request.key_digests = "seed";  // of no form
  CHECK(rig.refusal(request).find("another value") == std::string::npos);
  request.fingerprint = rig.pipeline()->fingerprint(10);
  CHECK(rig.refusal(request).empty());
  CHECK(rig.trainers.back()->info->key_digests == digests);
}

TEST_CASE("a feed that has failed takes no newcomer, while its other readers still sit there") {
  SeatingRig rig;
  auto request = rig.request("a");
  request.readers = 2;
  Trainer& a = rig.attach(request);
  request.reader = 1;
  Trainer& b = rig.attach(request);
  rig.streams[0]->fail({Trouble::kContent, "bad"});
  rig.settle();
  REQUIRE(a.failure);
  REQUIRE(b.failure);
  CHECK(rig.feeds().size() == 1);             // the reports show it
  CHECK_FALSE(rig.refusal(request).empty());  // its seat is taken
  b.detach();
  Trainer& anew = rig.attach(request);
  a.detach();
  request.reader = 0;
  Trainer& other = rig.attach(request);
  CHECK(anew.steps.size() == 6);
  CHECK(other.steps.size() == 6);
  CHECK(rig.feeds().size() == 1);
}

TEST_CASE("a reader that leaves when it is told of a failure takes its feed with it") {
  SeatingRig rig;
  for (const char* group : {"a", "b", "c"}) {
    auto request = rig.request(group);
    request.gpus.push_back({memory::GpuUuid{1}, false});
    rig.attach(request).leaves_when_told = true;
    rig.give_device_slots();
  }
  CHECK(rig.feeds().size() == 3);
  rig.gpu->trouble = Error{Trouble::kStopping, "the GPU failed"};
  rig.tick(1);
  CHECK(rig.feeds().empty());
  for (const auto& trainer : rig.trainers) CHECK(trainer->failures == 1);
}

TEST_CASE("slots on a GPU come later, and are refused where the rank was taken or the node stops meanwhile") {
  SeatingRig rig;
  auto request = rig.request("a");
  request.gpus.push_back({memory::GpuUuid{1}, false});
  Trainer& trainer = rig.attach(request);
  CHECK_FALSE(trainer.attachment);
  CHECK(rig.is_in_use);
  CHECK(rig.seating.ring_use().at(rig.client.uid).slots == 6);
  REQUIRE(rig.awaited.size() == 1);
  CHECK(rig.awaited[0].first.owner == rig.client.uid);
  SECTION("they come") {
    rig.give_device_slots();
    CHECK(trainer.steps.size() == 6);
    CHECK(trainer.info->memory == memory::MemoryKind::kCudaIpc);
    CHECK(rig.seating.ring_use().at(rig.client.uid).slots == 6);
    CHECK(rig.seating.slot_bytes() == 0);
  }
  SECTION("there are none") {
    const Error full{Trouble::kLimit, "the GPU is full"};
    rig.give_device_slots(&full);
    CHECK(trainer.refusal->message == "the GPU is full");
    CHECK_FALSE(rig.is_in_use);
    CHECK(rig.seating.ring_use().empty());
  }
  SECTION("the node stops") {
    rig.seating.drain();
    rig.give_device_slots();
    CHECK(trainer.refusal->trouble == Trouble::kStopping);
    CHECK_FALSE(rig.is_in_use);
  }
  SECTION("another trainer wanted the same seat") {
    Trainer& second = rig.attach(request);
    rig.give_device_slots();
    CHECK(trainer.attachment);
    rig.give_device_slots();
    CHECK(second.refusal->trouble == Trouble::kConflict);
    CHECK(rig.is_in_use);
  }
  SECTION("the ring of the other replica has failed meanwhile") {
    rig.give_device_slots();
    auto replicas = request;
    replicas.group = "b", replicas.readers = 2;
    Trainer& one = rig.attach(replicas);
    replicas.reader = 1;
    Trainer& two = rig.attach(replicas);
    rig.give_device_slots();
    rig.gpu->trouble = Error{Trouble::kStopping, "the GPU failed"};
    rig.tick(1);
    REQUIRE(one.failure);
    rig.gpu->trouble.reset();
    rig.give_device_slots();
    replicas.reader = 0;
    one.detach();
    Trainer& anew = rig.attach(replicas);
    CHECK(anew.steps.size() == 6);
    CHECK(two.steps.size() == 6);
  }
  SECTION("a replica finds the ring that another replica had made") {
    rig.give_device_slots();
    auto replicas = request;
    replicas.group = "b", replicas.readers = 2;
    Trainer& one = rig.attach(replicas);
    replicas.reader = 1;
    Trainer& two = rig.attach(replicas);
    rig.give_device_slots(), rig.give_device_slots();
    CHECK(one.steps.size() == 6);
    CHECK(two.steps.size() == 6);
    CHECK(rig.feeds().size() == 2);
    replicas.device = "cpu", replicas.reader = 0;
    one.detach();
    CHECK(rig.refusal(replicas).find("has replicas elsewhere") != std::string::npos);
    replicas.device = "cuda", replicas.ready_early = true;
    CHECK(rig.refusal(replicas).find("disagree on ready_early") != std::string::npos);
  }
}

TEST_CASE("limits of memory, rings and slots bind a user, with what to do") {
  SeatingRig rig;
  const uint64_t ring_bytes = [&] {
    Trainer& trainer = rig.attach("first");
    const uint64_t bytes = rig.seating.slot_bytes();
    trainer.detach();
    rig.settle();
    return bytes;
  }();
  REQUIRE(ring_bytes > 0);
  SECTION("the memory of a user") {
    rig.settings.slot_bytes_per_user_max = 2 * ring_bytes;
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).empty());
    CHECK(rig.refusal(rig.request("c")).find("limits.slot_bytes_per_user_max") != std::string::npos);
    rig.client.uid = 1002;
    CHECK(rig.refusal(rig.request("c")).empty());
    rig.trainers[1]->detach();  // the seat is free; the memory is when its stream is quiet
    rig.client.uid = 1001;
    CHECK(rig.refusal(rig.request("c")).empty());
  }
  SECTION("all memory") {
    rig.settings.slot_bytes_max = 2 * ring_bytes - 1;
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).find("limits.slot_bytes_max") != std::string::npos);
    rig.trainers[1]->detach();
    CHECK(rig.seating.slot_bytes() == ring_bytes);  // of a stream that is not yet quiet
  }
  SECTION("the memory that a control group grants, where other rings count before they are written") {
    rig.holds_batches = true;  // nothing is written yet
    rig.limits = {{ring_bytes * 4, ring_bytes, "memory.max grants"}};
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).find("memory.max grants " + std::to_string(ring_bytes * 4)) ==
          std::string::npos);  // a quarter is used, a sixteenth is kept, and two rings fit
    CHECK(rig.refusal(rig.request("c")).find("memory.max grants") != std::string::npos);
    rig.limits.front().bytes = ring_bytes * 5;
    CHECK(rig.refusal(rig.request("d")).empty());
  }
  SECTION("the memory that a control group grants, where the cache will grow") {
    rig.holds_batches = true;  // nothing is written yet
    rig.limits = {{ring_bytes * 2, 0, "memory.max grants"}};
    rig.cache_to_come = ring_bytes / 2;
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).find("memory.max grants") != std::string::npos);
  }
  SECTION("rings") {
    rig.settings.rings_per_user_max = 1;
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).find("limits.rings_per_user_max") != std::string::npos);
  }
  SECTION("slots") {
    rig.settings.slots_per_user_max = 11;
    CHECK(rig.refusal(rig.request("a")).empty());
    CHECK(rig.refusal(rig.request("b")).find("limits.slots_per_user_max") != std::string::npos);
  }
}

}  // namespace spdld::seating_test
