#include "daemon/source/fetch_queue.h"

#include <catch2/catch.hpp>
#include <vector>

namespace spdld::fetch_queue_test {

using source::FetchQueue;
using source::FetchRequest;

namespace {

std::vector<FetchRequest> requests(uint64_t owner, uint64_t count) {
  std::vector<FetchRequest> all(count);
  for (uint64_t i = 0; i < count; i++) all[i].owner = owner, all[i].sample = i;
  return all;
}

}  // namespace

TEST_CASE("owners take turns, and each one's requests stay in order") {
  auto many = requests(1, 100), few = requests(2, 2), later = requests(3, 1);
  FetchQueue queue;
  CHECK(queue.empty());
  for (auto& request : many) queue.push(request);
  for (auto& request : few) queue.push(request);
  std::vector<FetchRequest*> popped;
  for (int i = 0; i < 3; i++) popped.push_back(queue.pop());
  queue.push(later[0]);
  for (int i = 0; i < 3; i++) popped.push_back(queue.pop());
  CHECK(popped == std::vector<FetchRequest*>{&many[0], &few[0], &many[1], &few[1], &many[2], &later[0]});
  for (uint64_t i = 3; i < 100; i++) CHECK(queue.pop() == &many[i]);
  CHECK(queue.empty());
}

TEST_CASE("a thousand owners come and go") {
  FetchQueue queue;
  for (int turn = 0; turn < 3; turn++) {
    std::vector<FetchRequest> all(1000);
    for (uint64_t i = 0; i < all.size(); i++) all[i].owner = i, queue.push(all[i]);
    for (auto& request : all) CHECK(queue.pop() == &request);
    CHECK(queue.empty());
  }
}

}  // namespace spdld::fetch_queue_test
