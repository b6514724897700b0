#include "client/src/crew/worker_seat.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "tests/support/crew_ring.h"

namespace spdld::worker_seat_test {

using namespace spdld;
using namespace spdld::test;
using client::CallOutcome;
using client::Wake;
using client::WorkerSeat;
using proto::crew::Extent;
using proto::crew::Reply;
using proto::crew::Shape;
using proto::crew::Taken;
using proto::crew::Task;

namespace {

constexpr uint64_t kScratchBytes = 4096;

// A worker in this process.
struct Seated {
  Seated() {
    const CallOutcome outcome = seat.open(ring.ring_fd(), ring.bell_fd(), scratch.fd(), kScratchBytes);
    INFO(outcome.text);
    REQUIRE(outcome.ok());
  }
  Task await() {
    Task task{};
    while (seat.take(task) == Taken::kNothing) seat.wait();
    return task;
  }
  CrewRing ring;
  SharedMemory scratch{kScratchBytes};
  WorkerSeat seat;
};

Shape shape_of(std::initializer_list<int64_t> sizes) {
  Shape shape{static_cast<uint32_t>(sizes.size()), 0, {}};
  std::copy(sizes.begin(), sizes.end(), shape.sizes);
  return shape;
}

void do_nothing(int) {}

}  // namespace

TEST_CASE("a worker takes tasks in order, and its replies come in order") {
  Seated seated;
  constexpr uint64_t kTasks = 1000;
  std::thread worker([&] {
    for (uint64_t i = 0; i < kTasks; i++) {
      const Task task = seated.await();
      Reply reply{};
      reply.number = task.number;
      reply.bytes = task.key + 1;
      seated.seat.reply(reply, std::to_string(task.sample));
    }
    seated.await();  // which tells of the last ones
  });
  uint64_t put = 0, wrong = 0;
  for (uint64_t taken = 0; taken < kTasks; taken++) {
    for (; put < kTasks && put - taken < proto::crew::kPlaces; put++) {
      Task task{};
      task.key = 7 * put;
      task.sample = put;
      seated.ring.put(task);
    }
    const auto reply = seated.ring.take(5000);
    REQUIRE(reply);
    const bool is_right =
        reply->reply.number == taken + 1 && reply->reply.bytes == 7 * taken + 1 && reply->text == std::to_string(taken);
    wrong += is_right ? 0 : 1;
  }
  seated.ring.put(Task{});
  worker.join();
  CHECK(wrong == 0);
}

TEST_CASE("a signal ends a worker's sleep, and costs no task") {
  Seated seated;
  struct sigaction action = {};
  action.sa_handler = do_nothing;
  ::sigaction(SIGUSR1, &action, nullptr);
  std::atomic<int> signals{0};
  std::atomic<bool> done{false};
  std::thread worker([&] {
    Task task{};
    while (seated.seat.take(task) == Taken::kNothing)
      if (seated.seat.wait() == Wake::kSignal) signals++;
    done = task.key == 5;
  });
  while (signals == 0) {
    ::pthread_kill(worker.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  Task task{};
  task.key = 5;
  seated.ring.put(task);
  worker.join();
  CHECK(done);
}

TEST_CASE("a worker that waits and has nothing new to tell lets the daemon sleep") {
  Seated seated;
  const auto& sleeps = seated.ring.ring().replies.reader_sleeps;
  const auto take_one = [&] {
    seated.ring.put(Task{});
    REQUIRE(seated.seat.wait() == Wake::kReady);
    Task task{};
    REQUIRE(seated.seat.take(task) == Taken::kEntry);
    return task.number;
  };
  Reply reply{};
  reply.number = take_one();
  reply.call_ns = 1'000'000;
  seated.seat.reply(reply);  // of a long call: it is told at once
  REQUIRE(seated.ring.take(5000));
  seated.ring.ring().replies.reader_sleeps = 1;
  reply.number = take_one();
  CHECK(sleeps == 1);
  reply.call_ns = 0;
  seated.seat.reply(reply);  // of a short one, which a wait tells
  seated.ring.put(Task{});
  REQUIRE(seated.seat.wait() == Wake::kReady);
  CHECK(sleeps == 0);
}

TEST_CASE("an extent is in the scratch memory, or it is refused") {
  Seated seated;
  uint8_t* const start = seated.seat.scratch().data();
  CHECK(seated.seat.at(Extent{0, kScratchBytes}) == start);
  CHECK(seated.seat.at(Extent{64, kScratchBytes - 64}) == start + 64);
  CHECK(seated.seat.at(Extent{kScratchBytes - 64, 64}) == start + kScratchBytes - 64);
  CHECK(seated.seat.at(Extent{12345, 0}));  // nothing lies anywhere
  CHECK_FALSE(seated.seat.at(Extent{64, kScratchBytes - 63}));
  CHECK_FALSE(seated.seat.at(Extent{kScratchBytes, 1}));
  CHECK_FALSE(seated.seat.at(Extent{32, 1}));
  CHECK_FALSE(seated.seat.at(Extent{~uint64_t{63}, 128}));
  CHECK_FALSE(seated.seat.at(Extent{0, ~uint64_t{0}}));
  std::memset(start, 0x5a, 10);
  CHECK(seated.scratch.start()[9] == 0x5a);
}

TEST_CASE("a tensor fits its bytes exactly") {
  CHECK(WorkerSeat::fits(shape_of({}), 4, 4));
  CHECK(WorkerSeat::fits(shape_of({2, 3}), 4, 24));
  CHECK(WorkerSeat::fits(shape_of({2, 0, int64_t{1} << 62}), 4, 0));
  CHECK_FALSE(WorkerSeat::fits(shape_of({2, 3}), 4, 28));
  CHECK_FALSE(WorkerSeat::fits(shape_of({2, -3}), 4, 24));
  CHECK_FALSE(WorkerSeat::fits(shape_of({0, -3}), 4, 0));
  CHECK_FALSE(WorkerSeat::fits(shape_of({int64_t{1} << 62, 4}), 1, 0));  // as many as 64 bits hold, and one more
  Shape shape{};
  shape.dimensions = proto::crew::kDimensionsMax + 1;
  CHECK_FALSE(WorkerSeat::fits(shape, 1, 0));
}

TEST_CASE("a text is cut between two characters") {
  Seated seated;
  std::string text(proto::crew::kTextBytesMax - 1, 'x');
  seated.seat.reply({}, text + "\u00e4");
  const auto reply = seated.ring.take(5000);
  REQUIRE(reply);
  CHECK(reply->text == text);
}

TEST_CASE("memory that is smaller than told, or could be cut short, is refused") {
  CrewRing ring;
  const SharedMemory scratch(kScratchBytes);
  const auto opened = [&](UniqueFd memory, int scratch_fd, uint64_t bytes) {
    WorkerSeat seat;
    return seat.open(std::move(memory), ring.bell_fd(), scratch_fd, bytes).text;
  };
  const SharedMemory small(64), unsealed(sizeof(proto::crew::Ring), false);
  CHECK(opened(UniqueFd(::dup(small.fd())), scratch.fd(), kScratchBytes) ==
        "the daemon's ring of a worker is smaller than it says");
  CHECK(opened(UniqueFd(::dup(unsealed.fd())), scratch.fd(), kScratchBytes) ==
        "the daemon's ring of a worker is not sealed against being cut short");
  CHECK(opened(ring.ring_fd(), scratch.fd(), kScratchBytes + 1) ==
        "the daemon's scratch memory is smaller than it says");
  CHECK(opened(ring.ring_fd(), -1, kScratchBytes) == "the daemon's scratch memory is smaller than it says");
  CHECK(opened(ring.ring_fd(), -1, 0).empty());
}

TEST_CASE("a daemon that counts more tasks than there are places lies") {
  Seated seated;
  seated.ring.ring().tasks.written = proto::crew::kPlaces + 1;
  Task task{};
  CHECK(seated.seat.take(task) == Taken::kLie);
}

}  // namespace spdld::worker_seat_test
