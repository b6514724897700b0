#include "daemon/base/turns.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace spdld::turns_test {

namespace {

struct Item {
  uint64_t owner = 0, number = 0;
};
using Queue = Turns<Item>;

std::vector<Item> requests(uint64_t owner, uint64_t count) {
  std::vector<Item> all(count);
  for (uint64_t i = 0; i < count; i++) all[i].owner = owner, all[i].number = i;
  return all;
}

}  // namespace

TEST_CASE("owners take turns, and each one's requests stay in order") {
  auto many = requests(1, 100), few = requests(2, 2), later = requests(3, 1);
  Queue queue;
  CHECK(queue.empty());
  for (auto& request : many) queue.push(request);
  for (auto& request : few) queue.push(request);
  std::vector<Item*> popped;
  for (int i = 0; i < 3; i++) popped.push_back(queue.pop());
  queue.push(later[0]);
  for (int i = 0; i < 3; i++) popped.push_back(queue.pop());
  CHECK(popped == std::vector<Item*>{&many[0], &few[0], &many[1], &few[1], &many[2], &later[0]});
  for (uint64_t i = 3; i < 100; i++) CHECK(queue.pop() == &many[i]);
  CHECK(queue.empty());
}

TEST_CASE("a thousand owners come and go") {
  Queue queue;
  for (int turn = 0; turn < 3; turn++) {
    std::vector<Item> all(1000);
    for (uint64_t i = 0; i < all.size(); i++) all[i].owner = i, queue.push(all[i]);
    for (auto& request : all) CHECK(queue.pop() == &request);
    CHECK(queue.empty());
  }
}

TEST_CASE("an item that is taken out is not given, and its owner keeps its place among the owners") {
  auto some = requests(1, 3), others = requests(2, 1);
  Queue queue;
  for (auto& item : some) queue.push(item);
  CHECK_FALSE(queue.remove(others[0]));
  queue.push(others[0]);
  CHECK(queue.remove(some[1]));
  CHECK_FALSE(queue.remove(some[1]));
  std::vector<Item*> popped;
  while (!queue.empty()) popped.push_back(queue.pop());
  std::sort(popped.begin(), popped.end());
  std::vector<Item*> wanted = {&some[0], &some[2], &others[0]};
  std::sort(wanted.begin(), wanted.end());
  CHECK(popped == wanted);
}

}  // namespace spdld::turns_test
