#include "daemon/sampler/sharding.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::sharding_test {

using namespace spdld;
using namespace spdld::sampler;
using config::BatchSpec;
using config::LastBatch;

namespace {

BatchSpec global(uint64_t size, LastBatch last) { return {.size = 0, .global_size = size, .last = last}; }
BatchSpec per_rank(uint64_t size, LastBatch last) { return {.size = size, .global_size = 0, .last = last}; }

// Goes through an epoch of every rank and checks what the header promises.
void check_epoch(uint64_t samples, const BatchSpec& batch, uint64_t world_size) {
  INFO("samples " << samples << " size " << batch.size << " global " << batch.global_size << " world " << world_size);
  std::vector<Sharding> ranks;
  for (uint64_t rank = 0; rank < world_size; ++rank) ranks.emplace_back(samples, batch, rank, world_size);
  const uint64_t steps = ranks[0].steps(), global_size = ranks[0].global_size();
  std::vector<uint64_t> got(world_size);
  uint64_t next = 0, padded = 0, wrong = 0, empty = 0;
  // Millions of times: an assertion each would take most of the time.
  const auto expect = [&wrong](bool holds) { wrong += holds ? 0 : 1; };
  for (uint64_t step = 0; step < steps; ++step) {
    const bool is_last = step + 1 == steps, is_evened = ranks[0].is_evened() && step + 2 >= steps;
    expect(next == step * global_size || (is_evened && is_last && next < step * global_size));
    if (is_last) expect(ranks[0].last_samples() == std::min(global_size, samples - next));
    uint64_t fewest = ~uint64_t{0}, most = 0;
    for (uint64_t rank = 0; rank < world_size; ++rank) {
      expect(ranks[rank].steps() == steps);
      const Slice slice = ranks[rank].slice({0, step});
      expect(slice.first == next);  // contiguous, without gap or overlap
      expect(slice.count <= ranks[rank].batch_size());
      expect(slice.padded == (next + slice.count > samples ? std::min(slice.count, next + slice.count - samples) : 0));
      padded += slice.padded;
      next += slice.count;
      got[rank] += slice.count;
      fewest = std::min(fewest, slice.count);
      most = std::max(most, slice.count);
    }
    expect(most - fewest <= 1);
    if (is_evened) expect(fewest > 0 && batch.last == LastBatch::kShort && samples % global_size < world_size);
    if ((!is_last && !is_evened) || batch.last == LastBatch::kPad) expect(fewest == ranks[0].batch_size());
    empty += fewest == 0 ? 1 : 0;
    for (uint64_t rank = 0; rank < world_size; ++rank) {
      uint64_t left = ranks[rank].slice({0, step}).count;
      for (uint64_t later = step + 1; is_evened && later < steps; ++later) left += ranks[rank].slice({0, later}).count;
      if (is_evened || is_last) expect(ranks[rank].samples_from({0, step}) == left);
    }
  }
  // Empty batches come only where there is nothing to share: a single step, or batches of one sample.
  expect(empty == ranks[0].empty_steps());
  if (steps > 1 && ranks[0].batch_size() > 1) expect(empty == 0);
  const uint64_t whole = samples / global_size * global_size;
  const uint64_t end = batch.last == LastBatch::kDrop  ? whole
                       : batch.last == LastBatch::kPad ? whole + (whole < samples ? global_size : 0)
                                                       : samples;
  expect(next == end);
  expect(padded == (end > samples ? end - samples : 0));
  for (uint64_t rank = 0; rank < world_size; ++rank) expect(ranks[rank].epoch_samples() == got[rank]);
  REQUIRE(wrong == 0);
}

std::string refusal(uint64_t samples, const BatchSpec& batch, uint64_t rank, uint64_t world_size) {
  try {
    const Sharding sharding(samples, batch, rank, world_size);
    return "";
  } catch (const SetupError& error) {
    CHECK(error.trouble() == Trouble::kUsage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("an epoch hands out every position exactly once over the ranks") {
  for (const uint64_t world_size : {1u, 2u, 3u, 8u}) {
    for (const auto last : {LastBatch::kShort, LastBatch::kDrop, LastBatch::kPad}) {
      check_epoch(1000, per_rank(10, last), world_size);
      check_epoch(1001, per_rank(7, last), world_size);
      check_epoch(1000, global(24, last), world_size);
      check_epoch(24, global(24, last), world_size);
      check_epoch(25, global(24, last), world_size);
    }
  }
  check_epoch(1, per_rank(64, LastBatch::kShort), 8);
  check_epoch(1, per_rank(64, LastBatch::kPad), 8);
}

TEST_CASE("so it does for random sizes") {
  std::mt19937_64 random(12345);
  const auto up_to = [&](uint64_t most) { return random() % most + 1; };
  for (int i = 0; i < 2000; ++i) {
    const uint64_t world_size = up_to(i % 2 == 0 ? 9 : 70);
    check_epoch(up_to(3000), global(world_size * up_to(40), LastBatch::kShort), world_size);
    check_epoch(up_to(3000), global(world_size * up_to(40), LastBatch::kPad), world_size);
    const uint64_t size = up_to(40);
    check_epoch(world_size * size + up_to(3000), per_rank(size, LastBatch::kDrop), world_size);
  }
}

TEST_CASE("no rank cuts a group, and a short last step is spread by groups") {
  std::mt19937_64 random(99);
  const auto up_to = [&](uint64_t most) { return random() % most + 1; };
  for (int i = 0; i < 2000; ++i) {
    const uint64_t world_size = up_to(9), group = 1 + up_to(7), samples = up_to(3000);
    BatchSpec batch = per_rank(group * up_to(10), i % 2 == 0 ? LastBatch::kShort : LastBatch::kPad);
    batch.group = group;
    uint64_t next = 0;
    for (uint64_t step = 0; step < Sharding(samples, batch, 0, world_size).steps(); ++step) {
      uint64_t fewest = ~uint64_t{0}, most = 0;
      for (uint64_t rank = 0; rank < world_size; ++rank) {
        const Slice slice = Sharding(samples, batch, rank, world_size).slice({0, step});
        REQUIRE(slice.first == next);
        REQUIRE((slice.first % group == 0 || slice.first == samples));
        REQUIRE((slice.count % group == 0 || slice.first + slice.count == samples));
        REQUIRE(slice.count <= batch.size);
        next += slice.count;
        fewest = std::min(fewest, slice.count), most = std::max(most, slice.count);
      }
      REQUIRE(most - fewest < 2 * group);
      const Sharding first(samples, batch, 0, world_size);
      if (first.steps() > 1 && first.batch_size() > group) REQUIRE(fewest > 0);
    }
    REQUIRE(next >= samples);
  }
  BatchSpec batch = global(12, LastBatch::kShort);
  batch.group = 4;
  CHECK_THAT(refusal(100, batch, 0, 2), Catch::Contains("batch.group is 4") && Catch::Contains("6 samples"));
  CHECK(refusal(100, batch, 0, 3).empty());
}

TEST_CASE("the same global batches come with another world size") {
  for (uint64_t step = 0; step < 11; ++step) {
    uint64_t first = 0, count = 0;
    for (const uint64_t world_size : {1u, 2u, 4u, 8u}) {
      uint64_t sum = 0;
      for (uint64_t rank = 0; rank < world_size; ++rank) {
        sum += Sharding(1030, global(96, LastBatch::kShort), rank, world_size).slice({0, step}).count;
      }
      const Slice front = Sharding(1030, global(96, LastBatch::kShort), 0, world_size).slice({0, step});
      if (world_size == 1) first = front.first, count = sum;
      CHECK(front.first == first);
      CHECK(sum == count);
    }
  }
}

TEST_CASE("a short last step of fewer samples than ranks shares the samples of the step before it") {
  const Sharding first(641, per_rank(32, LastBatch::kShort), 0, 2), second(641, per_rank(32, LastBatch::kShort), 1, 2);
  REQUIRE(first.steps() == 11);
  CHECK(first.is_evened());
  CHECK(first.empty_steps() == 0);
  CHECK(first.last_samples() == 32);
  CHECK(second.slice({0, 8}) == Slice{544, 32, 0, {0, 641}});
  CHECK(first.slice({0, 9}) == Slice{576, 17, 0, {0, 641}});
  CHECK(second.slice({0, 9}) == Slice{593, 16, 0, {0, 641}});
  CHECK(first.slice({0, 10}) == Slice{609, 16, 0, {0, 641}});
  CHECK(second.slice({0, 10}) == Slice{625, 16, 0, {0, 641}});
  CHECK(first.epoch_samples() == 321);
  CHECK(second.epoch_samples() == 320);
}

TEST_CASE("steps that need not be evened stay as they were") {
  for (const uint64_t samples : {640u, 642u, 643u, 703u})
    CHECK_FALSE(Sharding(samples, per_rank(32, LastBatch::kShort), 1, 2).is_evened());
  for (const auto last : {LastBatch::kDrop, LastBatch::kPad})
    CHECK_FALSE(Sharding(641, per_rank(32, last), 1, 2).is_evened());
  CHECK_FALSE(Sharding(641, per_rank(64, LastBatch::kShort), 0, 1).is_evened());  // one rank
}

TEST_CASE("evened steps have the same samples for every number of ranks that needs them") {
  for (const uint64_t world_size : {2u, 4u, 8u, 16u, 32u}) {
    INFO(world_size);
    const Sharding rank(641, global(64, LastBatch::kShort), 0, world_size);
    CHECK(rank.slice({0, 9}).first == 576);
    CHECK(rank.slice({0, 10}).first == 609);
    CHECK(rank.empty_steps() == 0);
  }
  CHECK(Sharding(641, global(64, LastBatch::kShort), 0, 64).empty_steps() == 1);  // batches of one sample
}

TEST_CASE("fewer samples than ranks leave some with none where there is nothing to share") {
  const auto batch = per_rank(8, LastBatch::kShort);
  CHECK(Sharding(2, batch, 1, 4).slice({0, 0}) == Slice{1, 1, 0, {0, 2}});
  CHECK(Sharding(2, batch, 3, 4).slice({0, 0}) == Slice{2, 0, 0, {0, 2}});
  CHECK(Sharding(2, batch, 3, 4).epoch_samples() == 0);
  CHECK(Sharding(2, batch, 3, 4).empty_steps() == 1);
  CHECK_FALSE(Sharding(2, batch, 3, 4).is_evened());
  CHECK(Sharding(2, batch, 3, 4).without_steps().empty_steps() == 0);
}

TEST_CASE("a padded last step is full for every rank, and goes round as often as it must") {
  const auto batch = global(8, LastBatch::kPad);
  CHECK(Sharding(10, batch, 0, 4).slice({0, 1}) == Slice{8, 2, 0, {0, 10}});
  CHECK(Sharding(10, batch, 1, 4).slice({0, 1}) == Slice{10, 2, 2, {0, 10}});
  CHECK(Sharding(10, batch, 3, 4).slice({0, 1}) == Slice{14, 2, 2, {0, 10}});
  CHECK(Sharding(9, batch, 0, 4).slice({0, 1}) == Slice{8, 2, 1, {0, 9}});
  CHECK(Sharding(10, batch, 3, 4).epoch_samples() == 4);
  const Sharding small(3, batch, 0, 1);  // 8 positions over 3 samples
  CHECK(small.steps() == 1);
  CHECK(small.slice({0, 0}) == Slice{0, 8, 5, {0, 3}});
}

TEST_CASE("huge data sets don't overflow") {
  constexpr uint64_t kMany = ~uint64_t{0};
  const Sharding sharding(kMany, global(uint64_t{1} << 63, LastBatch::kShort), 1, 2);
  CHECK(sharding.steps() == 2);
  CHECK(sharding.slice({0, 0}) == Slice{uint64_t{1} << 62, uint64_t{1} << 62, 0, {0, kMany}});
  CHECK(sharding.slice({0, 1}).first + sharding.slice({0, 1}).count == kMany);
}

TEST_CASE("what can't be cut is refused with a sentence") {
  CHECK_THAT(refusal(100, per_rank(4, LastBatch::kShort), 2, 2),
             Catch::Contains("rank is 2") && Catch::Contains("at most 1"));
  CHECK_THAT(refusal(100, per_rank(4, LastBatch::kShort), 0, 0), Catch::Contains("world_size is 0"));
  CHECK_THAT(refusal(100, global(10, LastBatch::kShort), 0, 3), Catch::Contains("does not divide"));
  CHECK_THAT(refusal(9, global(10, LastBatch::kDrop), 0, 2),
             Catch::Contains("no step") && Catch::Contains("drop") && Catch::Contains("\"pad\""));
  CHECK_THAT(refusal(0, global(10, LastBatch::kShort), 0, 2), Catch::Contains("no sample"));
  CHECK_THAT(refusal(9, per_rank(uint64_t{1} << 63, LastBatch::kShort), 0, 2), Catch::Contains("too large"));
  CHECK_THAT(refusal(~uint64_t{0}, global(uint64_t{1} << 63, LastBatch::kPad), 0, 2), Catch::Contains("too large"));
  CHECK_THAT(refusal(9, BatchSpec{}, 0, 1), Catch::Contains("exactly one"));
}

}  // namespace spdld::sharding_test
