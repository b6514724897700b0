#include "daemon/memory/cuda/staging.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/memory/gpus_fixture.h"

namespace spdld::memory::staging_test {
namespace {

using test::FakeCuda;
using test::in_child;
using test::kMiB;
using test::Signal;

// Staging by itself; its tick() is called by the case, where a daemon's set-up thread would.
struct Desk {
  explicit Desk(uint64_t bytes_max)
      : staging(std::make_shared<Staging>(cuda::Context::retain(cuda::Driver::get().devices().at(0)), bytes_max,
                                          [this] { wakes.raise(); })) {}
  ~Desk() { staging->drop(); }
  Signal wakes;
  std::shared_ptr<Staging> staging;
};

// A ring with one slot.
struct Ring {
  Ring(const Desk& desk, uint64_t bytes, uint32_t owner = 0) : user(desk.staging, {bytes, owner}) {}
  bool take() {
    auto taken = user.take(this, [this] { room.raise(); });
    if (!taken) {
      error = taken.error();
      return false;
    }
    buffer = std::move(*taken);
    return buffer != nullptr;
  }
  Staging::User user;
  Signal room;
  StagingBufferPtr buffer;
  std::optional<Error> error;
};

TEST_CASE("a buffer is made once, and lent again") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Desk desk(8 * kMiB);
          Ring ring(desk, 4 * kMiB);
          EXPECT(!ring.take());
          EXPECT(desk.wakes.count() == 1);
          EXPECT(!desk.staging->tick());
          EXPECT(ring.room.count() == 1);
          for (int round = 0; round < 5; ++round) {
            EXPECT(ring.take());
            EXPECT(reinterpret_cast<uintptr_t>(ring.buffer->address()) % (2 * kMiB) == 0);
            EXPECT(desk.staging->levels().used_bytes == 4 * kMiB);
            desk.staging->give_back(std::move(ring.buffer));
          }
          EXPECT(desk.staging->levels().bytes == 4 * kMiB);
          EXPECT(fake.calls("cuMemHostRegister") == 1);
        }) == "");
}

TEST_CASE("who waits first is served first, and nobody overtakes") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          Desk desk(2 * kMiB);
          Ring first(desk, 2 * kMiB), second(desk, 2 * kMiB), third(desk, 2 * kMiB);
          desk.staging->ensure({2 * kMiB, 0});
          EXPECT(first.take());
          EXPECT(!second.take());
          EXPECT(!third.take());
          EXPECT(!second.take());  // asks again: its place stays, and its first `room` is not called any more
          desk.staging->give_back(std::move(first.buffer));
          EXPECT(second.room.count() == 1);
          EXPECT(third.room.count() == 0);
          EXPECT(!first.take());  // it is set aside for the second
          EXPECT(!third.take());
          EXPECT(second.take());
          desk.staging->give_back(std::move(second.buffer));
          EXPECT(third.take());
          desk.staging->give_back(std::move(third.buffer));
          EXPECT(first.room.count() == 1);
          EXPECT(first.take());
          desk.staging->give_back(std::move(first.buffer));
        }) == "");
}

TEST_CASE("an idle buffer is for nobody who comes later than a ring that waits for another size") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          Desk desk(6 * kMiB);
          Ring one(desk, 2 * kMiB), two(desk, 2 * kMiB), large(desk, 6 * kMiB), newcomer(desk, 2 * kMiB);
          for (Ring* small : {&one, &two}) {
            EXPECT(!small->take());
            desk.staging->tick();
            EXPECT(small->take());
          }
          EXPECT(!large.take());
          desk.staging->give_back(std::move(one.buffer));
          EXPECT(!newcomer.take());  // else the large one would wait as long as small ones come
          desk.staging->give_back(std::move(two.buffer));
          desk.staging->tick();
          EXPECT(large.take());
          EXPECT(newcomer.room.count() == 0);
          desk.staging->give_back(std::move(large.buffer));
          desk.staging->tick();
          EXPECT(newcomer.take());
          desk.staging->give_back(std::move(newcomer.buffer));
        }) == "");
}

TEST_CASE("what is set aside and not fetched goes to the next, also when its ring ends") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          Desk desk(2 * kMiB);
          desk.staging->ensure({2 * kMiB, 0});
          Ring first(desk, 2 * kMiB), third(desk, 2 * kMiB);
          {
            Ring second(desk, 2 * kMiB);
            EXPECT(first.take());
            EXPECT(!second.take());
            EXPECT(!third.take());
            desk.staging->give_back(std::move(first.buffer));
            EXPECT(second.room.count() == 1);
            EXPECT(third.room.count() == 0);
          }
          EXPECT(third.room.count() == 1);
          // The third does not fetch its own; the first waits for it.
          EXPECT(!first.take());
          std::optional<Staging::Clock::time_point> next = desk.staging->tick();
          EXPECT(next && first.room.count() == 0);
          EXPECT(test::becomes_true([&] {
            desk.staging->tick();
            return first.room.count() == 1;
          }));
          EXPECT(Staging::Clock::now() >= *next);
          EXPECT(first.take());
          EXPECT(!third.take());
          desk.staging->give_back(std::move(first.buffer));
          EXPECT(third.take());
          desk.staging->give_back(std::move(third.buffer));
        }) == "");
}

TEST_CASE("idle buffers of another size, or of another owner, make room") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Desk desk(6 * kMiB);
          Ring small(desk, 2 * kMiB), large(desk, 6 * kMiB), other(desk, 2 * kMiB, 7);
          EXPECT(!small.take());
          desk.staging->tick();
          EXPECT(small.take());
          small.buffer->address()[5] = 9;
          EXPECT(!large.take());
          desk.staging->tick();
          EXPECT(large.room.count() == 0);  // the small one is in use
          EXPECT(!other.take());            // there would be room for it, and the large one comes first
          desk.staging->tick();
          EXPECT(other.room.count() == 0);
          desk.staging->give_back(std::move(small.buffer));
          desk.staging->tick();
          EXPECT(large.room.count() == 1);
          EXPECT(large.take());
          EXPECT(desk.staging->levels().bytes == 6 * kMiB);
          desk.staging->give_back(std::move(large.buffer));
          desk.staging->tick();
          EXPECT(other.take());
          EXPECT(other.buffer->address()[5] == 0);  // what another owner left is not there
          desk.staging->give_back(std::move(other.buffer));
          EXPECT(fake.live(getpid()).registrations == 1);
        }) == "");
  CHECK(fake.violations() == std::vector<std::string>());
}

TEST_CASE("memory that can't be pinned is an error where there is none of its kind, else it is done without") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Desk desk(8 * kMiB);
          Ring ring(desk, 2 * kMiB), second(desk, 2 * kMiB);
          fake.inject("cuMemHostRegister", cuda::abi::kOutOfMemory, 1, true);
          EXPECT(!ring.take());
          desk.staging->tick();
          EXPECT(ring.room.count() == 1);
          EXPECT(!ring.take());
          EXPECT(ring.error && ring.error->trouble == Trouble::kLimit);
          EXPECT(ring.error->message.rfind("out-of-memory: ", 0) == 0);
          EXPECT(ring.user.refusal()->message == ring.error->message);

          fake.clear_faults();
          Ring third(desk, 2 * kMiB);
          EXPECT(!second.take());
          desk.staging->tick();
          EXPECT(second.take());
          fake.inject("cuMemHostRegister", cuda::abi::kOutOfMemory, 1, true);
          EXPECT(!third.take());
          desk.staging->tick();
          EXPECT(third.room.count() == 0);
          EXPECT(!third.error);
          desk.staging->give_back(std::move(second.buffer));
          EXPECT(third.take());
          // Of another kind there is none, so that it is tried, with all the room that there can be.
          Ring large(desk, 8 * kMiB);
          EXPECT(!large.take());
          desk.staging->tick();
          EXPECT(large.room.count() == 0);
          fake.clear_faults();
          desk.staging->give_back(std::move(third.buffer));
          desk.staging->tick();
          EXPECT(large.take());
          desk.staging->give_back(std::move(large.buffer));
        }) == "");
}

TEST_CASE("a closed staging tells all who wait, and takes back what is lent") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Desk desk(2 * kMiB);
          desk.staging->ensure({2 * kMiB, 0});
          Ring first(desk, 2 * kMiB), second(desk, 2 * kMiB);
          EXPECT(first.take());
          EXPECT(!second.take());
          desk.staging->close({Trouble::kStopping, "the end"});
          EXPECT(second.room.count() == 1);
          EXPECT(!second.take());
          EXPECT(second.error->message == "the end");
          desk.staging->drop();
          first.buffer->address()[0] = 1;  // still there for who fills it
          desk.staging->give_back(std::move(first.buffer));
          EXPECT(fake.live(getpid()).registrations == 0);
          EXPECT(desk.staging->levels().bytes == 0);
        }) == "");
}

}  // namespace
}  // namespace spdld::memory::staging_test
