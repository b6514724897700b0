// What the order costs does not grow with the data set: neither memory nor, but for a few more steps of the walk, work.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "daemon/sampler/order.h"
#include "daemon/sampler/sharding.h"
#include "tests/support/allocations.h"

namespace spdld::scale_test {

using namespace spdld;
using namespace spdld::sampler;

namespace {

constexpr uint64_t kWindow = 20'000;  // neighbouring positions that are looked at
constexpr uint64_t kBillion = 1'000'000'000;
constexpr uint64_t kTrillion = uint64_t{1} << 40;

}  // namespace

TEST_CASE("an order of 10^9 and 2^40 samples takes no memory, from its first position to its last") {
  for (const uint64_t size : {kBillion, kTrillion}) {
    std::vector<uint64_t> samples(3 * kWindow);
    const long before = test::allocations();
    const Permutation order(size, Draw(17, 123'456, 0, draw_key("order")));
    auto at = samples.begin();
    for (const uint64_t start : {uint64_t{0}, size / 2, size - kWindow})
      for (uint64_t i = 0; i < kWindow; i++) *at++ = order(start + i);
    const long after = test::allocations();
    CHECK(after == before);
    CHECK(sizeof order <= 128);
    INFO(size << " samples");
    std::sort(samples.begin(), samples.end());
    CHECK(samples.back() < size);
    CHECK(std::adjacent_find(samples.begin(), samples.end()) == samples.end());
    CHECK(samples.front() < size / 1000);  // and they come from everywhere
    CHECK(samples.back() > size - size / 1000);
  }
}

TEST_CASE("the order of any epoch of 2^40 samples is held in the memory of that of ten") {
  std::vector<long> asked_for;
  for (const uint64_t size : {uint64_t{10}, kBillion, kTrillion}) {
    uint64_t sum = 0;
    const long before = test::allocations();
    {
      const Order whole({config::Shuffle::kGlobal, 17, 0}, Subset(size));
      for (uint64_t epoch = 0; epoch < 100; epoch++) {
        const EpochOrder order(whole, epoch * 1'000'003);
        sum += order(size - 1) + order.substitute(size / 2, 3);
      }
    }
    asked_for.push_back(test::allocations() - before);
    CHECK(sum > 0);
  }
  CHECK(asked_for[1] == asked_for[0]);
  CHECK(asked_for[2] == asked_for[0]);
}

TEST_CASE("10^9 and 2^40 samples are cut into steps and ranks in constant memory, the last step as well") {
  for (const uint64_t size : {kBillion, kTrillion + 1}) {
    for (const auto last : {config::LastBatch::kShort, config::LastBatch::kDrop}) {
      const config::BatchSpec batch{.size = 0, .global_size = 48 * 7, .last = last};
      const uint64_t whole = size / batch.global_size, rest = size % batch.global_size;
      REQUIRE(rest != 0);
      uint64_t next = 0, steps = 0, in_last = 0, of_all_ranks = 0;
      bool contiguous = true;
      const long before = test::allocations();
      for (uint64_t rank = 0; rank < 6; rank++) {
        const Sharding sharding(size, batch, rank, 6);
        steps = sharding.steps();
        const Slice slice = sharding.slice({0, steps - 1});
        if (rank == 0) next = (steps - 1) * batch.global_size;
        contiguous = contiguous && slice.first == next;
        next += slice.count;
        in_last += slice.count;
        of_all_ranks += sharding.epoch_samples();
      }
      const long after = test::allocations();
      INFO(size << " samples");
      CHECK(after - before <= 6);  // the one stretch of each; sanitizers have allocators of their own, which count none
      CHECK(contiguous);
      const bool drops = last == config::LastBatch::kDrop;
      CHECK(steps == whole + (drops ? 0 : 1));
      CHECK(in_last == (drops ? batch.global_size : rest));
      CHECK(of_all_ranks == (drops ? size - rest : size));
    }
  }
}

}  // namespace spdld::scale_test
