// Where replicas meet, whatever they seek and in whatever order.
#include "daemon/node/seats/seeks.h"

#include <catch2/catch.hpp>
#include <random>

namespace spdld::node::seeks_test {
namespace {

using sampler::Position;

control::SeekRequest to(uint32_t run, uint64_t step, bool waits = false) {
  return {.request = run, .run = run, .to = {0, step}, .waits = waits};
}

}  // namespace

TEST_CASE("replicas meet where all have sought, the first such position first", "[node]") {
  Seeks seeks;
  seeks.join(1, {}), seeks.join(2, {});
  CHECK_FALSE(seeks.look().to);
  seeks.add(1, to(1, 5)), seeks.add(1, to(2, 9));
  CHECK(seeks.state(1) == Seeks::State::kSought);
  CHECK_FALSE(seeks.look().to);
  seeks.add(2, to(1, 9));
  CHECK(seeks.look().to == Position{0, 9});  // the second has not been at 5, and the first has left it
  CHECK(seeks.meet({0, 9}) == std::vector<delivery::ReaderId>{1, 2});
  CHECK(seeks.state(1) == Seeks::State::kReading);
  CHECK(seeks.run(1) == 2);
  seeks.add(1, to(3, 1)), seeks.add(1, to(4, 2)), seeks.add(2, to(2, 1));
  CHECK(seeks.look().to == Position{0, 1});
  CHECK(seeks.meet({0, 1}) == std::vector<delivery::ReaderId>{2});  // the first is on its way to 2
  CHECK(seeks.state(1) == Seeks::State::kSought);
}

TEST_CASE("only replicas that all wait have parted, and the last seek of each counts then", "[node]") {
  Seeks seeks;
  seeks.join(1, {}), seeks.join(2, {});
  seeks.add(1, to(1, 5)), seeks.add(2, to(1, 7, true));
  CHECK_FALSE(seeks.look().parted);
  seeks.add(1, to(2, 6, true));
  CHECK(seeks.look().parted);
  const auto goals = seeks.part();
  REQUIRE(goals.size() == 2);
  CHECK(goals[0].seek.to == Position{0, 6});
  CHECK(goals[1].seek.to == Position{0, 7});
  CHECK_FALSE(seeks.look().parted);  // until both wait again
  CHECK(seeks.is_second(1, to(2, 6, true)));
  seeks.wait(1);
  CHECK_FALSE(seeks.look().parted);
  seeks.wait(2), seeks.wait(2);
  CHECK(seeks.look().parted);
}

TEST_CASE("a second message that comes after the meeting changes nothing", "[node]") {
  Seeks seeks;
  seeks.join(1, {});
  CHECK_FALSE(seeks.is_second(1, to(0, 0, true)));  // a replica that never sought
  seeks.add(1, to(1, 5));
  CHECK(seeks.look().to == Position{0, 5});
  seeks.meet({0, 5});
  CHECK(seeks.is_second(1, to(1, 5, true)));
  CHECK_FALSE(seeks.is_second(1, to(1, 5)));
  seeks.wait(1);
  CHECK(seeks.state(1) == Seeks::State::kReading);
  CHECK_FALSE(seeks.look().to);
}

TEST_CASE("a replica that sought before it came back follows the others there, once", "[node]") {
  Seeks seeks;
  seeks.join(1, Position{0, 5}), seeks.join(2, {});
  CHECK_FALSE(seeks.look().to);
  auto again = to(1, 5);
  SECTION("another replica seeks it again") {
    again.again = true;
    seeks.add(2, again);
    CHECK(seeks.look().to == Position{0, 5});
    CHECK(seeks.followers() == std::vector<delivery::ReaderId>{1});
    CHECK(seeks.meet({0, 5}).size() == 2);
    again.run = 2;
    seeks.add(2, again);
    CHECK_FALSE(seeks.look().to);
  }
  SECTION("another replica seeks it for the first time") {
    seeks.add(2, again);
    CHECK_FALSE(seeks.look().to);
  }
  SECTION("another replica seeks another position") {
    again.again = true, again.to = {0, 6};
    seeks.add(2, again);
    CHECK_FALSE(seeks.look().to);
  }
}

TEST_CASE("nobody waits for a replica that has left, and the seeks of a replica are bounded", "[node]") {
  Seeks seeks;
  seeks.join(1, {}), seeks.join(2, {});
  for (uint32_t run = 1; run <= Seeks::kSeeksMax + 1; run++) seeks.add(1, to(run, run));
  seeks.add(2, to(1, 1));
  CHECK_FALSE(seeks.look().to);  // passed over by the first
  seeks.add(2, to(2, 2));
  CHECK(seeks.look().to == Position{0, 2});
  seeks.meet({0, 2});
  CHECK_FALSE(seeks.look().to);
  seeks.leave(2);
  CHECK_FALSE(seeks.has(2));
  CHECK(seeks.look().to == Position{0, 3});
  seeks.leave(1);
  CHECK_FALSE(seeks.look().to);
}

TEST_CASE("replicas that make the same seeks meet at each, however far one is ahead", "[node]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; round++) {
    const size_t replicas = 2 + random() % 3;
    Seeks seeks;
    std::vector<uint32_t> made(replicas, 0);
    for (size_t i = 0; i < replicas; i++) seeks.join(i, {});
    uint64_t met = 0;
    while (met < 12) {
      const size_t i = random() % replicas;
      if (made[i] < 12) made[i]++, seeks.add(i, to(made[i], made[i]));
      for (auto outcome = seeks.look(); outcome.to; outcome = seeks.look()) {
        REQUIRE(outcome.to->step == met + 1);
        seeks.meet(*outcome.to);
        met++;
      }
      REQUIRE(met == *std::min_element(made.begin(), made.end()));
    }
  }
}

}  // namespace spdld::node::seeks_test
