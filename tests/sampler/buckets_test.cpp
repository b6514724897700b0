// Batches bounded by cost, against a model that goes through every step of every rank.
#include "daemon/sampler/buckets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "daemon/base/result.h"
#include "daemon/sampler/order.h"
#include "daemon/sampler/sharding.h"

namespace spdld::buckets_test {

using namespace spdld;
using namespace spdld::sampler;
using config::LastBatch;
using config::Shuffle;

namespace {

using Costs = std::vector<uint64_t>;

Order order_of(const Costs& costs, const BucketRule& rule, Shuffle shuffle = Shuffle::kGlobal, uint64_t seed = 7) {
  return Order({shuffle, seed, 0}, Subset(costs.size()), std::make_shared<const Buckets>(costs, rule));
}

// The steps of an epoch: for each, the rows of each rank.
using Epoch = std::vector<std::vector<Costs>>;

Epoch epoch_of(const Order& order, LastBatch last, uint64_t world_size, uint64_t epoch) {
  const EpochOrder in_order(order, epoch);
  Epoch steps;
  for (uint64_t rank = 0; rank < world_size; ++rank) {
    const Sharding sharding(order, last, rank, world_size);
    steps.resize(sharding.steps());
    uint64_t taken = 0;
    for (uint64_t step = 0; step < sharding.steps(); ++step) {
      const Slice slice = sharding.slice({epoch, step});
      REQUIRE(slice.count <= sharding.batch_size());
      Costs& rows = steps[step].emplace_back();
      for (uint64_t i = 0; i < slice.count; ++i) rows.push_back(in_order(slice.place(i)));
      taken += slice.count;
    }
    REQUIRE(taken == sharding.epoch_samples());
  }
  return steps;
}

struct Model {
  Costs costs;
  BucketRule rule;
  uint64_t world_size = 1;

  // The number of steps, from the sizes of the buckets alone.
  uint64_t steps(const Buckets& buckets, LastBatch last) const {
    uint64_t sum = 0;
    for (const auto& bucket : buckets.list()) {
      const uint64_t rows = bucket.batch_size * world_size;
      sum += last == LastBatch::kDrop ? bucket.size / rows : (bucket.size + rows - 1) / rows;
    }
    return sum;
  }

  void check_buckets(const Buckets& buckets) const {
    uint64_t at = 0, edge = 0;
    REQUIRE(buckets.list().size() <= (rule.edges.empty() ? rule.buckets_max : rule.edges.size() + 1));
    for (const auto& bucket : buckets.list()) {
      REQUIRE(bucket.first == at);
      REQUIRE(bucket.size > 0);
      REQUIRE((at == 0 || bucket.edge > edge));
      uint64_t largest = 0, before = 0;
      for (uint64_t place = at; place < bucket.end(); ++place) {
        const uint64_t number = buckets.number_at(place);
        REQUIRE(buckets.bucket_at(place) == static_cast<size_t>(&bucket - buckets.list().data()));
        REQUIRE((place == at || number > before));  // in the listing's order
        REQUIRE((at == 0 || costs[number] > edge));
        largest = std::max(largest, costs[number]), before = number;
      }
      REQUIRE(bucket.edge == largest);
      REQUIRE(bucket.batch_size == std::min(rule.cost_max / std::max<uint64_t>(largest, 1), rule.size_max));
      at = bucket.end(), edge = largest;
    }
    REQUIRE(at == costs.size());
  }

  void check_bound(const Costs& batch) const {
    uint64_t largest = 0;
    for (const uint64_t row : batch) largest = std::max(largest, costs[row]);
    REQUIRE(batch.size() <= rule.size_max);
    REQUIRE(Wide{batch.size()} * largest <= rule.cost_max);
  }

  void check_epoch(const Order& order, LastBatch last, uint64_t epoch) const {
    std::vector<int> seen(costs.size());
    const Epoch steps = epoch_of(order, last, world_size, epoch);
    REQUIRE(steps.size() == this->steps(*order.buckets(), last));
    for (const auto& ranks : steps) {
      size_t fewest = ~size_t{0}, most = 0, all = 0;
      std::set<size_t> buckets;
      for (const Costs& batch : ranks) {
        check_bound(batch);
        for (const uint64_t row : batch) {
          ++seen[row];
          const auto edges = order.buckets()->list();
          buckets.insert(static_cast<size_t>(
              std::count_if(edges.begin(), edges.end(), [&](const auto& b) { return b.edge < costs[row]; })));
        }
        fewest = std::min(fewest, batch.size()), most = std::max(most, batch.size()), all += batch.size();
      }
      REQUIRE(buckets.size() == 1);  // all ranks of a step take rows of one bucket
      REQUIRE(most - fewest <= 1);
      if (last != LastBatch::kShort) REQUIRE(fewest == most);
      if (last != LastBatch::kShort) REQUIRE(most == order.buckets()->list()[*buckets.begin()].batch_size);
    }
    for (const int times : seen) {
      if (last == LastBatch::kShort) REQUIRE(times == 1);
      if (last == LastBatch::kDrop) REQUIRE(times <= 1);
      if (last == LastBatch::kPad) REQUIRE(times >= 1);
    }
  }

  void check(Shuffle shuffle, uint64_t seed) const {
    INFO("rows " << costs.size() << " cost_max " << rule.cost_max << " size_max " << rule.size_max << " world "
                 << world_size);
    const Order order = order_of(costs, rule, shuffle, seed);
    check_buckets(*order.buckets());
    for (const auto last : {LastBatch::kShort, LastBatch::kPad, LastBatch::kDrop}) {
      if (last == LastBatch::kDrop && steps(*order.buckets(), last) == 0) continue;
      for (const uint64_t epoch : {0u, 1u}) check_epoch(order, last, epoch);
    }
  }
};

Costs lognormal(uint64_t rows, double mean, double deviation, uint64_t most, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> draw(mean, deviation);
  Costs costs;
  for (uint64_t i = 0; i < rows; ++i) costs.push_back(std::min(most, static_cast<uint64_t>(draw(random))));
  return costs;
}

}  // namespace

TEST_CASE("every row comes once an epoch, in batches within the bound, in as many steps on every rank") {
  std::mt19937_64 random(99);
  const auto up_to = [&](uint64_t most) { return random() % most + 1; };
  for (int i = 0; i < 600; ++i) {
    Model model;
    const uint64_t spread = uint64_t{1} << (random() % 20);
    for (uint64_t row = up_to(400); row > 0; --row) model.costs.push_back(random() % spread >> random() % 8);
    const uint64_t largest = *std::max_element(model.costs.begin(), model.costs.end());
    model.rule = {std::max<uint64_t>(largest, 1) + random() % (20 * spread), up_to(50), up_to(20), {}};
    if (i % 4 == 0) {
      model.rule.edges = {up_to(spread), spread + up_to(spread)};
    }
    model.world_size = up_to(i % 2 ? 4 : 40);
    model.check(i % 3 == 0 ? Shuffle::kOff : Shuffle::kGlobal, random());
  }
}

TEST_CASE("buckets of unusual rows keep every promise") {
  const uint64_t huge = uint64_t{1} << 62;
  Costs one_huge(200, 3);
  one_huge[77] = 1'000'000;
  const std::vector<Model> models = {
      {one_huge, {1'000'000, 64, 16, {}}, 3},
      {Costs(100, 5), {64, 64, 16, {}}, 2},
      {Costs(100, 0), {64, 1000, 16, {}}, 2},
      {{7}, {7, 1, 1, {}}, 1},
      {{7, 9}, {9, 10, 16, {}}, 64},
      {Costs(50, huge), {2 * huge, 10, 16, {}}, 3},
      {{huge, huge - 1, 1, 0, huge, 5}, {~uint64_t{0}, 10, 16, {}}, 2},
      {{1, 2, 3, 4, 5, 6, 7, 8}, {8, 8, 16, {100}}, 1},
      {{10, 20, 30}, {30, 8, 16, {1, 2, 3}}, 1},
  };
  for (const Model& model : models)
    for (const auto shuffle : {Shuffle::kGlobal, Shuffle::kOff}) model.check(shuffle, 5);
}

TEST_CASE("a lone row beyond all others has a bucket of its own, and does not make the others' batches small") {
  Costs costs(10'000, 10);
  costs[5] = 1000;
  const Buckets buckets(costs, {1000, 1000, 16, {}});
  REQUIRE(buckets.list().size() == 2);
  CHECK(buckets.list()[0].batch_size == 100);
  CHECK(buckets.list()[1].batch_size == 1);
  CHECK(buckets.padding() == 0);
}

TEST_CASE("given edges are the buckets' bounds, and rows beyond them have one more") {
  const Costs costs = {1, 10, 11, 20, 21, 500};
  const Buckets buckets(costs, {1000, 64, 1, {10, 20}});
  REQUIRE(buckets.list().size() == 3);
  CHECK(buckets.list()[0].edge == 10);
  CHECK(buckets.list()[0].size == 2);
  CHECK(buckets.list()[1].edge == 20);
  CHECK(buckets.list()[2].edge == 500);
  CHECK(buckets.list()[2].batch_size == 2);
}

// Of few distinct costs, every way to choose edges is tried.
TEST_CASE("chosen edges have the least padding and half-empty batches") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    Costs values, costs;
    for (int v = 0; v < 8; ++v) values.push_back(1 + random() % 1000);
    for (int row = 0; row < 60; ++row) costs.push_back(values[random() % 8]);
    const BucketRule rule{1000, 64, 1 + random() % 4, {}};
    const auto price = [&](const Buckets& buckets) {
      Wide sum = 0;
      for (const auto& b : buckets.list()) sum += Wide{b.size} * b.edge + rule.cost_max / 2;
      return sum;
    };
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    Wide best = ~Wide{0};
    for (unsigned set = 1; set < 1u << values.size(); ++set) {
      BucketRule given = rule;
      for (size_t v = 0; v < values.size(); ++v)
        if (set >> v & 1) given.edges.push_back(values[v]);
      const Buckets buckets(costs, given);
      if (buckets.list().size() <= rule.buckets_max) best = std::min(best, price(buckets));
    }
    const Buckets chosen(costs, rule);
    REQUIRE(chosen.list().size() <= rule.buckets_max);
    REQUIRE(price(chosen) == best);
  }
}

TEST_CASE("each epoch has another order of steps and of rows, and another seed as well") {
  const Costs costs = lognormal(5000, 5, 1, 3000, 1);
  const BucketRule rule{6000, 64, 8, {}};
  const Order order = order_of(costs, rule), other = order_of(costs, rule, Shuffle::kGlobal, 8);
  const Epoch first = epoch_of(order, LastBatch::kShort, 2, 0), second = epoch_of(order, LastBatch::kShort, 2, 1);
  CHECK(first == epoch_of(order, LastBatch::kShort, 2, 0));
  CHECK(first != second);
  CHECK(first != epoch_of(other, LastBatch::kShort, 2, 0));
  CHECK(first.size() == second.size());
  const auto sizes = [](const Epoch& epoch) {
    Costs all;
    for (const auto& ranks : epoch) all.push_back(ranks[0].size());
    return all;
  };
  CHECK(sizes(first) != sizes(second));  // steps are shuffled, not only rows
  const Costs by_step = sizes(first);
  CHECK_FALSE(std::is_sorted(by_step.begin(), by_step.end(), std::greater<>()));
}

TEST_CASE("buckets of the same size are shuffled in different ways") {
  Costs costs(200, 1);
  std::fill(costs.begin() + 100, costs.end(), 100);
  const Order order = order_of(costs, {100, 10, 2, {1}});
  const EpochOrder epoch(order, 0);
  uint64_t alike = 0;
  for (uint64_t position = 0; position < 100; ++position)
    alike += epoch(position) + 100 == epoch(position + 100) ? 1 : 0;
  CHECK(alike < 20);
}

TEST_CASE("unshuffled, steps come in the order of their first rows and rows in the listing's") {
  const Costs costs = lognormal(500, 5, 1, 3000, 2);
  const Order order = order_of(costs, {6000, 16, 4, {}}, Shuffle::kOff);
  uint64_t last = 0;
  for (const auto& ranks : epoch_of(order, LastBatch::kShort, 1, 3)) {
    REQUIRE(std::is_sorted(ranks[0].begin(), ranks[0].end()));
    REQUIRE((ranks[0][0] > last || last == 0));
    last = ranks[0][0];
  }
}

TEST_CASE("a substitute keeps the batch within its bound") {
  Costs costs = lognormal(300, 4, 1.5, 5000, 3);
  costs.push_back(5001);  // alone in its bucket
  const BucketRule rule{5001, 64, 1, {10, 100, 200, 1000, 5000}};
  const Buckets buckets(costs, rule);
  REQUIRE(buckets.list().back().size == 1);
  for (const auto shuffle : {Shuffle::kGlobal, Shuffle::kOff}) {
    const Order shuffled = order_of(costs, rule, shuffle);
    const EpochOrder epoch(shuffled, 2);
    for (uint64_t position = 0; position < costs.size(); ++position) {
      const auto& bucket = buckets.list()[buckets.bucket_at(position)];
      for (uint32_t attempt = 1; attempt < 9; ++attempt) {
        const uint64_t other = epoch.substitute(position, attempt);
        REQUIRE(other != epoch(position));
        REQUIRE(costs[other] <= bucket.edge);
        if (bucket.size > 1 && attempt <= 4)
          REQUIRE((bucket.first == 0 || costs[other] > buckets.list()[buckets.bucket_at(bucket.first - 1)].edge));
      }
    }
  }
  const Order lone = order_of({7}, {7, 1, 1, {}});
  CHECK(EpochOrder(lone, 0).substitute(0, 1) == 0);
}

TEST_CASE("ranks that have too few rows for one step with drop are told") {
  const Order order = order_of(Costs(10, 5), {10, 8, 2, {}});
  CHECK(Sharding(order, LastBatch::kDrop, 0, 5).steps() == 1);
  CHECK_THROWS_WITH(Sharding(order, LastBatch::kDrop, 0, 6),
                    Catch::Contains("no bucket of the 10 samples") && Catch::Contains("6 ranks"));
  CHECK_THROWS_WITH(Sharding(order, LastBatch::kShort, 6, 6), Catch::Contains("rank is 6"));
  const Order large = order_of(Costs(10, 0), {65536, 65536, 2, {}});
  CHECK_THROWS_WITH(Sharding(large, LastBatch::kShort, 0, uint64_t{1} << 62), Catch::Contains("too large"));
}

TEST_CASE("samples from a step on are a fair part of the epoch's") {
  const Order order = order_of(lognormal(5000, 5, 1, 3000, 1), {6000, 64, 8, {}});
  const Sharding sharding(order, LastBatch::kShort, 1, 3);
  CHECK(sharding.samples_from({4, 0}) == sharding.epoch_samples());
  CHECK(sharding.samples_from({4, sharding.steps()}) == 0);
  const uint64_t half = sharding.samples_from({4, sharding.steps() / 2});
  CHECK(half > sharding.epoch_samples() * 49 / 100);
  CHECK(half < sharding.epoch_samples() * 51 / 100);
}

// What stands in docs/order.md.
TEST_CASE("buckets save padding on lognormal lengths", "[.figures]") {
  const Costs costs = lognormal(1'000'000, 6, 1, 16384, 4);
  for (const uint64_t buckets_max : {1u, 4u, 8u, 16u, 32u}) {
    const Order order = order_of(costs, {65536, 1024, buckets_max, {}});
    Wide real = 0, padded = 0, random_padded = 0;
    const Sharding sharding(order, LastBatch::kShort, 0, 1);
    const EpochOrder epoch(order, 0);
    for (uint64_t step = 0; step < sharding.steps(); ++step) {
      const Slice slice = sharding.slice({0, step});
      uint64_t longest = 0;
      for (uint64_t i = 0; i < slice.count; ++i) {
        const uint64_t cost = costs[epoch(slice.place(i))];
        real += cost, longest = std::max(longest, cost);
      }
      padded += Wide{slice.count} * longest;
    }
    const Permutation permutation(costs.size(), Draw(1, 0, 0, draw_key("order")));
    constexpr uint64_t kRows = 64;
    for (uint64_t first = 0; first < costs.size(); first += kRows) {
      const uint64_t end = std::min(first + kRows, costs.size());
      uint64_t longest = 0;
      for (uint64_t i = first; i < end; ++i) longest = std::max(longest, costs[permutation(i)]);
      random_padded += Wide{end - first} * longest;
    }
    const auto waste = [&](Wide all) { return 100 * static_cast<double>(all - real) / static_cast<double>(all); };
    std::cout << "buckets " << order.buckets()->list().size() << ": padding " << waste(padded) << " % (at most "
              << 100 * order.buckets()->padding() << " %), without buckets, 64 rows a batch " << waste(random_padded)
              << " %, steps " << sharding.steps() << "\n";
  }
}

TEST_CASE("a step and a sample take nanoseconds", "[.figures]") {
  const Costs costs = lognormal(1'000'000, 6, 1, 16384, 4);
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const auto start = Clock::now();
  const Order order = order_of(costs, {65536, 1024, 16, {}});
  std::cout << "buckets of a million rows: " << seconds(start) * 1e3 << " ms\n";
  const Sharding sharding(order, LastBatch::kShort, 3, 8);
  uint64_t sum = 0;
  const auto at_slices = Clock::now();
  for (uint64_t i = 0; i < 1'000'000; ++i) sum += sharding.slice({i, i % sharding.steps()}).first;
  std::cout << "slice(): " << seconds(at_slices) * 1e3 << " ns\n";
  const auto at_steps = Clock::now();
  for (uint64_t i = 0; i < 1'000'000; ++i) sum += Sharding(order, LastBatch::kShort, i % 8, 8).steps();
  std::cout << "Sharding and steps(): " << seconds(at_steps) * 1e3 << " ns\n";
  const EpochOrder epoch(order, 0);
  const auto at_rows = Clock::now();
  for (uint64_t i = 0; i < 1'000'000; ++i) sum += epoch(i);
  std::cout << "a position: " << seconds(at_rows) * 1e3 << " ns (" << sum % 2 << ")\n";
  const auto at_epochs = Clock::now();
  for (uint64_t i = 0; i < 100'000; ++i) sum += EpochOrder(order, i)(0);
  std::cout << "an EpochOrder: " << seconds(at_epochs) * 1e4 << " ns (" << sum % 2 << ")\n";
}

}  // namespace spdld::buckets_test
