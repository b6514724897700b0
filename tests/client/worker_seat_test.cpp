#include "client/src/crew/worker_seat.h"

#include <poll.h>
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

TEST_CASE("the replies of a bunch come at once") {
  Seated seated;
  for (uint64_t number = 1; number <= 3; number++) {
    Reply reply{};
    reply.number = number;
    seated.seat.prepare(reply, "text " + std::to_string(number));
  }
  CHECK(seated.ring.ring().replies.written == 0);
  seated.seat.publish(0);
  CHECK(seated.ring.ring().replies.written == 3);
  for (uint64_t number = 1; number <= 3; number++) {
    const auto reply = seated.ring.take(5000);
    REQUIRE(reply);
    CHECK(reply->reply.number == number);
    CHECK(reply->text == "text " + std::to_string(number));
  }
}

TEST_CASE("the daemon finds each call that has begun, and how many of its errand are under way") {
  Seated seated;
  const auto word = [&](uint64_t number) { return seated.ring.ring().begun[number % proto::crew::kPlaces].load(); };
  Task task{};
  for (const uint64_t number : {uint64_t{3}, uint64_t{4}, uint64_t{proto::crew::kPlaces} + 5}) {
    task.number = number;
    seated.seat.begin(task, number == 4 ? 16 : 0);
  }
  CHECK(word(3) == 3);
  CHECK(proto::crew::begun_number(word(4)) == 4);
  CHECK(proto::crew::begun_in_flight(word(4)) == 16);
  CHECK(word(5) == proto::crew::kPlaces + 5);
  CHECK(word(6) == 0);
}

TEST_CASE("an event loop hears of tasks by the bell, and of the end") {
  Seated seated;
  const auto rings = [&] {
    pollfd entry{seated.seat.bell(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  };
  Task task{};
  REQUIRE(seated.seat.await_ring());
  CHECK_FALSE(rings());
  seated.ring.put(Task{});
  CHECK(rings());
  seated.seat.hear();
  CHECK_FALSE(rings());
  CHECK_FALSE(seated.seat.await_ring());  // it was not taken
  REQUIRE(seated.seat.take(task) == Taken::kEntry);
  seated.seat.hear();  // without a ring
  CHECK_FALSE(seated.seat.is_over());
  seated.ring.hang_up();
  CHECK(rings());
  seated.seat.hear();
  CHECK(seated.seat.is_over());
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

TEST_CASE("a slot is mapped by the descriptor that came for it, whenever the bell was heard") {
  Seated seated;
  SharedMemory first(8192), second(4096);
  const bool hears_before = GENERATE(true, false);
  seated.ring.send(first.fd());
  if (hears_before) REQUIRE(seated.seat.wait() == Wake::kReady);  // the descriptor is there before its task
  seated.ring.send(second.fd());
  seated.ring.announce_slot(7, 8192);
  seated.ring.announce_slot(9, 4096);
  CHECK_FALSE(seated.seat.has_slot(7));
  for (int i = 0; i < 2; i++) CHECK(seated.seat.take_slot(seated.await()) == nullptr);
  CHECK(seated.seat.has_slot(7) == true);
  CHECK(seated.seat.has_slot(9) == true);
  uint8_t* const at = seated.seat.in_slot(7, Extent{8000, 192});
  REQUIRE(at);
  *at = 0x5a;
  CHECK(first.start()[8000] == 0x5a);
  CHECK_FALSE(seated.seat.in_slot(7, Extent{8000, 193}));
  CHECK_FALSE(seated.seat.in_slot(7, Extent{8193, 0}));
  CHECK_FALSE(seated.seat.in_slot(7, Extent{~uint64_t{0}, 2}));
  CHECK_FALSE(seated.seat.in_slot(8, Extent{0, 1}));
  Task gone{};
  gone.slot = 7;
  CHECK(seated.seat.drop_slot(gone) == nullptr);
  CHECK_FALSE(seated.seat.in_slot(7, Extent{0, 1}));
  CHECK(seated.seat.drop_slot(gone) != nullptr);
  CHECK(seated.seat.in_slot(9, Extent{0, 4096}));
  CHECK_FALSE(seated.seat.is_over());
}

TEST_CASE("a slot that is no slot is the daemon's fault, and one that can't be mapped is nobody's") {
  Seated seated;
  SharedMemory memory(4096), unsealed(4096, false);
  Task task{};
  task.kind = proto::crew::TaskKind::kSlot, task.slot = 1, task.room.bytes = 4096;
  CHECK(std::string(seated.seat.take_slot(task)) == "it announces a slot, and sends no descriptor of it");
  seated.ring.send(unsealed.fd());
  CHECK(std::string(seated.seat.take_slot(task)) ==
        "it announces a slot that is no memory, or that could be cut short");
  seated.ring.send(seated.ring.ring_fd().get());
  task.room.bytes = 1 << 30;  // more than it has
  CHECK(seated.seat.take_slot(task) == nullptr);
  CHECK(seated.seat.has_slot(1) == false);
  CHECK_FALSE(seated.seat.in_slot(1, Extent{0, 1}));
  task.slot = 2, task.room.bytes = 4096;
  seated.ring.send(memory.fd());
  CHECK(seated.seat.take_slot(task) == nullptr);
  seated.ring.send(memory.fd());
  CHECK(std::string(seated.seat.take_slot(task)) == "it announces a slot for the second time");
}

TEST_CASE("a daemon that counts more tasks than there are places lies") {
  Seated seated;
  seated.ring.ring().tasks.written = proto::crew::kPlaces + 1;
  Task task{};
  CHECK(seated.seat.take(task) == Taken::kLie);
}

}  // namespace spdld::worker_seat_test
