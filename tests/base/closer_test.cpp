#include "daemon/base/system/closer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/lingering.h"

namespace spdld::closer_test {
namespace {

using DescriptorClass = Closer::DescriptorClass;
using test::Lingering;

constexpr uid_t kBad = 1001, kGood = 1002;

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    REQUIRE(pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    read = UniqueFd(fds[0]), write = UniqueFd(fds[1]);
  }
  // Whether the writing end is closed before the first of the lingering sockets would be by itself.
  bool is_closed_in_time() const {
    pollfd watched{read.get(), POLLIN, 0};
    return poll(&watched, 1, 30'000) == 1 && (watched.revents & POLLHUP) != 0;
  }
  UniqueFd read, write;
};

void wait_until_none_waits(const Closer& closer) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (closer.waiting() > 0) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a descriptor is closed, and none is no trouble") {
  Closer closer;
  Pipe pipe;
  closer.close(kGood, DescriptorClass::kReceived, std::move(pipe.write));
  closer.close(kGood, DescriptorClass::kReceived, UniqueFd());
  CHECK(pipe.is_closed_in_time());
}

TEST_CASE("descriptors that linger hold up neither another user nor the same user's sockets, and are interrupted") {
  Closer::Limits limits;
  limits.threads_max = GENERATE(2u, 8u);
  Closer closer(limits);
  std::vector<Lingering> lingering(20);
  for (auto& one : lingering) closer.close(kBad, DescriptorClass::kReceived, one.take());
  Pipe other, socket, behind;
  closer.close(kGood, DescriptorClass::kReceived, std::move(other.write));
  closer.close(kBad, DescriptorClass::kSocket, std::move(socket.write));
  CHECK(other.is_closed_in_time());
  CHECK(socket.is_closed_in_time());
  closer.close(kBad, DescriptorClass::kReceived, std::move(behind.write));
  CHECK(behind.is_closed_in_time());  // twenty would take 800 s
  wait_until_none_waits(closer);
  CHECK(closer.interrupted() >= 1);
}

TEST_CASE("users take turns: one who waits comes before another's second descriptor") {
  Closer::Limits limits;
  limits.threads_max = 1;
  limits.patience = std::chrono::minutes(1);  // no interruption
  Closer closer(limits);
  auto first = std::make_unique<Lingering>(), second = std::make_unique<Lingering>();
  Pipe other;
  closer.close(kBad, DescriptorClass::kReceived, first->take());
  closer.close(kBad, DescriptorClass::kReceived, second->take());
  closer.close(kGood, DescriptorClass::kReceived, std::move(other.write));
  first.reset();  // its peer goes, and it does not linger any more
  CHECK(other.is_closed_in_time());
  CHECK(closer.waiting() >= 1);
  second.reset();
  wait_until_none_waits(closer);
}

TEST_CASE("a socket with unread messages that carry lingering descriptors is interrupted as well") {
  Closer closer;
  auto ends = [] {
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) == 0);
    return std::pair(UniqueFd(fds[0]), UniqueFd(fds[1]));
  }();
  std::vector<Lingering> lingering(3);
  for (auto& one : lingering) {
    test::send_with(ends.first.get(), one.fd());
    one.close_own_copy();
  }
  Pipe behind;
  closer.close(kBad, DescriptorClass::kSocket, std::move(ends.second));
  closer.close(kBad, DescriptorClass::kSocket, std::move(behind.write));
  CHECK(behind.is_closed_in_time());
}

TEST_CASE("a lane is full where one user's descriptors wait, and for that user alone") {
  Closer::Limits limits;
  limits.lane_max = 4;
  limits.patience = std::chrono::minutes(1);  // no interruption: what waits goes on waiting
  Closer closer(limits);
  std::vector<Lingering> lingering(6);
  for (auto& one : lingering) closer.close(kBad, DescriptorClass::kReceived, one.take());
  CHECK(closer.full(kBad, DescriptorClass::kReceived));
  CHECK_FALSE(closer.full(kBad, DescriptorClass::kSocket));
  CHECK_FALSE(closer.full(kGood, DescriptorClass::kReceived));
  CHECK_FALSE(closer.full(DescriptorClass::kReceived));
  CHECK(closer.waiting() == 6);
  lingering.clear();  // their peers go, and nothing lingers any more
  wait_until_none_waits(closer);
  CHECK_FALSE(closer.full(kBad, DescriptorClass::kReceived));
}

TEST_CASE("so many descriptors of all users together make it full") {
  Closer::Limits limits;
  limits.all_max = 3;
  limits.patience = std::chrono::minutes(1);
  Closer closer(limits);
  std::vector<Lingering> lingering(4);
  for (uid_t user = 0; auto& one : lingering) closer.close(2000 + user++, DescriptorClass::kSocket, one.take());
  CHECK(closer.full(DescriptorClass::kSocket));
  CHECK_FALSE(closer.full(DescriptorClass::kReceived));
  CHECK(closer.full(2000, DescriptorClass::kSocket));
  CHECK_FALSE(closer.full(kGood, DescriptorClass::kSocket));  // who has none in it is not to blame
  lingering.clear();
  wait_until_none_waits(closer);
}

TEST_CASE("the end does not wait for what lingers") {
  std::vector<Lingering> lingering(30);
  Pipe last;
  const auto begin = std::chrono::steady_clock::now();
  {
    Closer closer;
    for (auto& one : lingering) closer.close(kBad, DescriptorClass::kReceived, one.take());
    closer.close(kBad, DescriptorClass::kReceived, std::move(last.write));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(35));  // one of them takes 40 s
}

TEST_CASE("one thread closes one descriptor after another") {
  Closer closer({.threads_max = 1});
  for (int i = 0; i < 5; ++i) {
    Pipe pipe;
    closer.close(kGood, DescriptorClass::kReceived, std::move(pipe.write));
    CHECK(pipe.is_closed_in_time());
  }
}

TEST_CASE("the end comes when the last thread has ended, however long it may take") {
  Pipe pipe;
  {
    Closer closer({.end = std::chrono::hours(1)});
    closer.close(kGood, DescriptorClass::kReceived, std::move(pipe.write));
  }
  CHECK(pipe.is_closed_in_time());
}

}  // namespace spdld::closer_test
