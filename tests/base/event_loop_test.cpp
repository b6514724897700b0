#include "daemon/base/system/event_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

namespace spdld::event_loop_test {
namespace {

using std::chrono::milliseconds;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    REQUIRE(pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    read = UniqueFd(fds[0]), write = UniqueFd(fds[1]);
  }
  UniqueFd read, write;
};

}  // namespace

TEST_CASE(
    "tasks run in the order in which they were posted, also those of other threads and those that can't be copied") {
  EventLoop loop;
  std::vector<int> ran;
  loop.post([&] { ran.push_back(1); });
  loop.post([&, held = std::make_unique<int>(2)] { ran.push_back(*held); });
  std::thread other([&] {
    loop.post([&] {
      ran.push_back(3);
      loop.stop();
    });
  });
  loop.run();
  other.join();
  CHECK(ran == std::vector{1, 2, 3});
}

TEST_CASE("a task that finds no memory ends, and the loop goes on") {
  EventLoop loop;
  int ran = 0;
  loop.post([&] { ran++; });
  loop.post([] { throw std::bad_alloc(); });
  loop.post([&] { ran++; });
  Timer timer(loop);
  timer.start(milliseconds(0), [&] {
    loop.post([&] { loop.stop(); });
    throw std::bad_alloc();
  });
  loop.run();
  CHECK(ran == 2);
}

TEST_CASE("the tasks that are ready run without a wait, as often as they are asked for") {
  EventLoop loop;
  Timer later(loop);
  int ran = 0;
  later.start(std::chrono::hours(1), [&] { FAIL("its time has not come"); });
  loop.run_ready();
  for (int round = 1; round <= 2; round++) {
    loop.post([&] { loop.post([&] { ran++; }); });
    loop.run_ready();
    CHECK(ran == round);
  }
}

TEST_CASE("a task that is left in the loop goes with it") {
  const auto held = std::make_shared<int>(1);
  {
    EventLoop loop;
    loop.post([held] { FAIL("it must not run"); });
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("a timer runs what was given last, once") {
  EventLoop loop;
  Timer timer(loop);
  int first = 0, second = 0;
  timer.start(milliseconds(0), [&] { first++; });
  timer.start(milliseconds(1), [&] {
    second++;
    loop.stop();
  });
  loop.run();
  CHECK(first == 0);
  CHECK(second == 1);
}

TEST_CASE("a timer that is cancelled when its time has come does not run") {
  EventLoop loop;
  Timer late(loop), end(loop);
  bool ran = false;
  loop.post([&] {
    late.start(milliseconds(0), [&] { ran = true; });
    std::this_thread::sleep_for(milliseconds(5));  // both are due in one turn of the loop
    end.start(milliseconds(5), [&] { loop.stop(); });
    loop.post([&] { late.cancel(); });
  });
  loop.run();
  CHECK_FALSE(ran);
}

TEST_CASE("a descriptor is waited for until it is closed") {
  EventLoop loop;
  Pipe pipe;
  Watch watch(loop, std::move(pipe.read));
  int heard = 0;
  watch.when_readable([&] {
    char byte = 0;
    CHECK(read(watch.fd(), &byte, 1) == 1);
    heard++;
    watch.when_readable([&] { heard += 100; });
    watch.close();
    CHECK_FALSE(watch.is_open());
    loop.post([&] { loop.stop(); });
  });
  REQUIRE(write(pipe.write.get(), "x", 1) == 1);
  loop.run();
  CHECK(heard == 1);
}

TEST_CASE("what can't be watched is refused, and closed") {
  EventLoop loop;
  UniqueFd file(open("/", O_PATH | O_CLOEXEC));
  const int number = file.get();
  CHECK_THROWS_AS(Watch(loop, std::move(file)), std::system_error);
  CHECK(fcntl(number, F_GETFD) == -1);
}

TEST_CASE("a signal is a task, each time it comes") {
  EventLoop loop;
  int heard = 0;
  const Signals signals(loop, {SIGUSR1}, [&](int signal) {
    CHECK(signal == SIGUSR1);
    if (++heard == 2) return loop.stop();
    raise(SIGUSR1);
  });
  raise(SIGUSR1);
  loop.run();
  CHECK(heard == 2);
}

}  // namespace spdld::event_loop_test
