#include "proto/guarded_state.h"

#include <catch2/catch.hpp>

namespace spdld::guarded_state_test {
namespace {

enum class Door { kOpen, kShut, kLocked };

constexpr bool may(Door from, Door to) { return from == Door::kShut ? to != Door::kShut : to == Door::kShut; }

}  // namespace

TEST_CASE("a state goes along the listed transitions alone, and a refused change leaves it as it was") {
  GuardedState<Door, may> door(Door::kOpen);
  CHECK(door == Door::kOpen);
  CHECK_THROWS_AS(door.change(Door::kLocked), std::logic_error);
  CHECK(door == Door::kOpen);
  door.change(Door::kShut);
  CHECK_THROWS_AS(door.change(Door::kShut), std::logic_error);
  door.change(Door::kLocked);
  CHECK(door == Door::kLocked);
  CHECK_THROWS_AS(door.change(Door::kOpen), std::logic_error);
}

}  // namespace spdld::guarded_state_test
