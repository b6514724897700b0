// One order cut into steps of two sizes, against every position looked at one by one.
#include <catch2/catch.hpp>

#include "daemon/sampler/recut.h"

namespace spdld::recut_test {

using namespace spdld;
using namespace spdld::sampler;

namespace {

Sharding cut(uint64_t samples, uint64_t size, config::LastBatch last, uint64_t world_size = 1) {
  config::BatchSpec batch;
  batch.size = size;
  batch.last = last;
  return {samples, batch, 0, world_size};
}

// The first position behind an epoch's last one.
uint64_t end_of(const Sharding& sharding) {
  const Slice last = sharding.slice({0, sharding.steps() - 1});
  return last.first + last.count;
}

void check_pair(const Sharding& a, const Sharding& b) {
  CHECK(covers(a, b) == (end_of(a) >= end_of(b)));
  for (uint64_t step = 0; step < b.steps(); step++) {
    const uint64_t first = b.slice({0, step}).first;
    if (covers(a, b)) {
      const Position with = step_with(a, b, {3, step});
      REQUIRE(with.epoch == 3);
      const Slice slice = a.slice({0, with.step});
      CHECK((slice.first <= first && first < slice.first + slice.count));
    }
    const Position from = step_from(a, b, {3, step});
    uint64_t expected = 0;
    while (expected < a.steps() && a.slice({0, expected}).first < first) expected++;
    CHECK(from == a.by_one_name({3, expected}));
  }
  CHECK(step_from(a, b, {3, b.steps()}) == Position{4, 0});
  CHECK(step_with(a, b, {3, b.steps()}) == Position{4, 0});
}

}  // namespace

TEST_CASE("steps of one size lie in those of another, at every end of an epoch") {
  for (const auto last : {config::LastBatch::kShort, config::LastBatch::kDrop, config::LastBatch::kPad})
    for (const uint64_t samples : {24u, 37u, 97u})
      for (uint64_t a = 1; a <= 24; a += 3)
        for (uint64_t b = 1; b <= 24; b++) check_pair(cut(samples, a, last), cut(samples, b, last));
}

TEST_CASE("what several ranks have is not one order cut in two ways") {
  const Sharding one = cut(60, 6, config::LastBatch::kShort), of_two = cut(60, 3, config::LastBatch::kShort, 2);
  CHECK_FALSE(covers(one, of_two));
  CHECK_FALSE(covers(of_two, one));
}

}  // namespace spdld::recut_test
