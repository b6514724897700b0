// Rows in buckets of shapes: what an epoch's steps hold, for every rank, and what takes the place of a bad row.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "daemon/base/result.h"
#include "daemon/sampler/order.h"
#include "daemon/sampler/sharding.h"

namespace spdld::sampler_shapes_test {
namespace {

using namespace spdld::sampler;
using config::BatchSpec;
using config::LastBatch;
using config::Shuffle;

std::vector<uint32_t> shapes_of(size_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> shapes;
  for (size_t i = 0; i < rows; ++i) shapes.push_back(random() % 3 == 0 ? random() % 7 : 2);
  return shapes;
}

Order order_of(const std::vector<uint32_t>& shapes, Shuffle shuffle = Shuffle::kGlobal) {
  return Order({shuffle, 7, 0}, Subset(shapes.size()), std::make_shared<const Buckets>(shapes));
}

BatchSpec batch_of(uint64_t size, LastBatch last = LastBatch::kShort) {
  BatchSpec batch;
  batch.size = size;
  batch.last = last;
  return batch;
}

TEST_CASE("a bucket has the rows of one shape") {
  const std::vector<uint32_t> shapes = {4, 0, 4, 1, 0, 4};
  const Buckets buckets(shapes);
  CHECK(buckets.is_by_shape());
  REQUIRE(buckets.list().size() == 3);
  const std::vector<uint32_t> expected = {0, 1, 4};
  for (size_t i = 0; i < 3; ++i) CHECK(buckets.list()[i].shape == expected[i]);
  std::vector<uint64_t> numbers;
  for (uint64_t place = 0; place < buckets.size(); ++place) numbers.push_back(buckets.number_at(place));
  CHECK(numbers == std::vector<uint64_t>{1, 4, 3, 0, 2, 5});
}

TEST_CASE("every step has rows of one shape, the same for all ranks, and an epoch has every row once") {
  const auto shapes = shapes_of(1000, 5);
  for (const Shuffle shuffle : {Shuffle::kGlobal, Shuffle::kOff}) {
    const Order order = order_of(shapes, shuffle);
    const EpochOrder in_order(order, 3);
    for (const uint64_t world_size : {1, 3}) {
      std::vector<uint32_t> of_step;
      std::multiset<uint64_t> seen;
      for (uint64_t rank = 0; rank < world_size; ++rank) {
        const Sharding sharding(order, batch_of(8), rank, world_size);
        CHECK(sharding.batch_size() == 8);
        CHECK(sharding.global_size() == 8 * world_size);
        CHECK_FALSE(sharding.is_in_turn());
        of_step.resize(sharding.steps(), 99);
        for (uint64_t step = 0; step < sharding.steps(); ++step) {
          const Slice slice = sharding.slice({3, step});
          const uint32_t shape = order.buckets()->list()[order.buckets()->bucket_at(slice.of.first)].shape;
          if (of_step[step] == 99) of_step[step] = shape;
          CHECK(of_step[step] == shape);
          for (uint64_t i = 0; i < slice.count; ++i) {
            const uint64_t row = in_order(slice.place(i));
            REQUIRE(shapes[row] == shape);
            seen.insert(row);
          }
        }
      }
      CHECK(seen.size() == 1000);
      CHECK(std::set<uint64_t>(seen.begin(), seen.end()).size() == 1000);
      CHECK(std::set<uint32_t>(of_step.begin(), of_step.begin() + 20).size() > 2);  // the steps of buckets are mixed
    }
  }
}

TEST_CASE("the end of a bucket is short, left out or filled up with rows of its shape") {
  const std::vector<uint32_t> shapes(10, 1);
  const Order order = order_of(shapes);
  CHECK(Sharding(order, batch_of(4), 0, 1).steps() == 3);
  CHECK(Sharding(order, batch_of(4, LastBatch::kDrop), 0, 1).steps() == 2);
  const Sharding padded(order, batch_of(4, LastBatch::kPad), 0, 1);
  CHECK(padded.epoch_samples() == 12);
  BatchSpec global = batch_of(0);
  global.global_size = 6;
  CHECK(Sharding(order, global, 1, 2).batch_size() == 3);
  CHECK_THROWS_AS(Sharding(order, global, 1, 4), SetupError);
  CHECK_THROWS_WITH(Sharding(order, batch_of(11, LastBatch::kDrop), 0, 1), Catch::Contains("no step"));
}

TEST_CASE("a substitute has the bad row's shape, or any other where there is none") {
  std::vector<uint32_t> shapes = shapes_of(200, 6);
  shapes[17] = 9;  // alone
  shapes[5] = 0;
  const Order order = order_of(shapes);
  const EpochOrder in_order(order, 0);
  for (uint64_t position = 0; position < order.size(); ++position) {
    const uint64_t row = in_order(position);
    for (uint32_t attempt = 1; attempt <= 8; ++attempt) {
      const uint64_t other = in_order.substitute(position, attempt);
      REQUIRE(other != row);
      if (row != 17 && attempt <= 4) REQUIRE(shapes[other] == shapes[row]);
    }
  }
  const std::vector<uint32_t> apart = {0, 1};  // the first bucket has one row, and the other row is behind it
  const Order two = order_of(apart);
  const EpochOrder of_two(two, 0);
  for (uint64_t position = 0; position < 2; ++position) CHECK(of_two.substitute(position, 1) == 1 - of_two(position));
}

}  // namespace
}  // namespace spdld::sampler_shapes_test
