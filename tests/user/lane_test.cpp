// The lanes of a ring between two threads: nothing is lost, and nobody sleeps on.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "proto/crew/lane.h"
#include "proto/unique_fd.h"

namespace spdld::lane_test {

using namespace spdld;
using namespace spdld::proto::crew;

namespace {

struct Entry {
  uint64_t number, twice;
};

std::array<int, 2> make_bell() {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return ends;
}

struct Two {
  // How often the bell has rung since.
  size_t rings() const {
    std::array<char, 256> bytes;
    const ssize_t got = recv(far.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

  const std::array<int, 2> bell = make_bell();
  UniqueFd near{bell[0]}, far{bell[1]};
  Lane<Entry> lane{};
  LaneWriter<Entry> writer{lane, near.get()};
  LaneReader<Entry> reader{lane};
};

void pause_at_random(std::mt19937& random) {
  const auto way = random() % 64;
  if (way == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
  if (way < 8) std::this_thread::yield();
}

}  // namespace

TEST_CASE("nothing is lost between two threads, and nobody sleeps on", "[lane]") {
  Two two;
  constexpr uint64_t kEntries = 50'000;
  const auto seed = GENERATE(1u, 2u, 3u);
  std::atomic<uint64_t> taken{0};
  std::thread writing([&] {
    std::mt19937 random(seed);
    for (uint64_t i = 0; i < kEntries; i++) {
      while (i - taken >= kPlaces) std::this_thread::yield();
      two.writer.put({i, 2 * i});
      if (random() % 4 != 0 || i + 1 == kEntries || i + 1 - taken >= kPlaces) two.writer.tell();
      pause_at_random(random);
    }
    two.writer.tell();
  });
  std::mt19937 random(seed + 100);
  uint64_t wrong = 0, slept_on = 0, sleeps = 0, rings = 0;
  while (taken < kEntries && slept_on == 0) {
    Entry entry{};
    if (two.reader.take(entry) == Taken::kEntry) {
      if (entry.number != taken || entry.twice != 2 * taken) wrong++;
      taken++;
    } else if (two.reader.begin_sleep()) {
      sleeps++;
      pollfd bell{two.far.get(), POLLIN, 0};
      // A writer that has not told yet may be waiting for places, so that the bell is heard late, but it is heard.
      if (poll(&bell, 1, 5000) != 1) slept_on++;
      two.reader.end_sleep();
      rings += two.rings();
    }
    pause_at_random(random);
  }
  if (slept_on > 0) taken = kEntries + kPlaces;  // the writer ends
  writing.join();
  CHECK(wrong == 0);
  CHECK(slept_on == 0);
  CHECK(sleeps > 0);
  CHECK(rings <= kEntries);
}

TEST_CASE("the bell rings once for each sleep, and for sleepers alone", "[lane]") {
  Two two;
  two.writer.put({0, 0});
  two.writer.tell();
  CHECK(two.rings() == 0);
  CHECK_FALSE(two.reader.begin_sleep());  // there is an entry
  Entry entry{};
  REQUIRE(two.reader.take(entry) == Taken::kEntry);
  two.writer.put({1, 2});
  two.writer.tell();
  CHECK(two.rings() == 0);
  REQUIRE(two.reader.take(entry) == Taken::kEntry);
  REQUIRE(two.reader.begin_sleep());
  two.writer.put({2, 4});
  CHECK(two.rings() == 0);  // not told yet
  for (int i = 0; i < 3; i++) two.writer.tell();
  CHECK(two.rings() == 1);
  CHECK(two.lane.reader_sleeps == 0);
}

TEST_CASE("entries that are written come all at once", "[lane]") {
  Two two;
  Entry entry{};
  for (uint64_t i = 0; i < 3; i++) two.writer.write({i, 0});
  CHECK(two.reader.take(entry) == Taken::kNothing);
  CHECK(two.reader.begin_sleep());
  two.writer.publish();
  CHECK_FALSE(two.reader.begin_sleep());
  for (uint64_t i = 0; i < 3; i++) {
    REQUIRE(two.reader.take(entry) == Taken::kEntry);
    CHECK(entry.number == i);
  }
  two.writer.write({3, 0});
  two.writer.put({4, 0});  // which publishes both
  REQUIRE(two.reader.take(entry) == Taken::kEntry);
  CHECK(entry.number == 3);
}

TEST_CASE("a lane may be full, and not more than that", "[lane]") {
  Two two;
  for (uint64_t i = 0; i < kPlaces; i++) two.writer.put({i, 0});
  Entry entry{};
  for (uint64_t i = 0; i < kPlaces; i++) {
    REQUIRE(two.reader.take(entry) == Taken::kEntry);
    CHECK(entry.number == i);
  }
  CHECK(two.reader.take(entry) == Taken::kNothing);
  const uint64_t claim = GENERATE(uint64_t{2} * kPlaces + 1, uint64_t{kPlaces} - 1, UINT64_MAX, uint64_t{0});
  two.lane.written = claim;
  CHECK(two.reader.take(entry) == Taken::kLie);
}

}  // namespace spdld::lane_test
