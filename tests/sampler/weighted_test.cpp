// Weighted draws: that each sample comes as often as its weight says, and that a position is a place.
#include "daemon/sampler/weighted.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "daemon/sampler/order.h"
#include "tests/sampler/judge.h"

namespace spdld::weighted_test {

using namespace spdld;
using namespace spdld::sampler;
using namespace spdld::test;

namespace {

using Weights = std::vector<double>;

Order weighted(const Weights& weights, bool replacement, uint64_t epoch_samples, uint64_t seed = 17) {
  return Order(seed, Subset(weights.size()), Weighting{weights, replacement, epoch_samples});
}

std::vector<uint64_t> epoch_of(const Order& order, uint64_t epoch) {
  const EpochOrder of_epoch(order, epoch);
  std::vector<uint64_t> samples(order.size());
  for (uint64_t i = 0; i < order.size(); ++i) samples[i] = of_epoch(i);
  return samples;
}

Weights shares_of(const Weights& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Weights shares;
  for (const double weight : weights) shares.push_back(weight / sum);
  return shares;
}

// Equal ones, rising ones, halves of one another, one that has nearly all, and random ones over six decades.
std::vector<Weights> many_weights(size_t size) {
  std::vector<Weights> all(5, Weights(size, 1.0));
  std::mt19937_64 random(size);
  for (size_t i = 0; i < size; ++i) {
    all[1][i] = static_cast<double>(i + 1);
    all[2][i] = std::ldexp(1e100, -static_cast<int>(std::min<size_t>(i, 60)));
    all[3][i] = i == size / 2 ? 1e6 : 1;
    all[4][i] = std::pow(10.0, -6.0 * static_cast<double>(random() % 1000) / 1000);
  }
  return all;
}

// Of counts against the shares that are expected; what is expected rarely is counted together.
bool is_likely(const std::vector<int>& bins, const Weights& shares) {
  const double total = std::accumulate(bins.begin(), bins.end(), 0.0);
  double sum = 0, rare = 0, rare_expected = 0;
  int freedom = -1;
  const auto add = [&](double n, double expected) {
    sum += (n - expected) * (n - expected) / expected;
    ++freedom;
  };
  for (size_t i = 0; i < bins.size(); ++i) {
    const double expected = shares[i] * total;
    if (expected >= 10) {
      add(bins[i], expected);
    } else {
      rare += bins[i], rare_expected += expected;
    }
  }
  if (rare_expected >= 10) add(rare, rare_expected);
  if (rare_expected < 10 && rare > 40) return false;
  return freedom < 1 || sum < chi_square_limit(freedom);
}

}  // namespace

TEST_CASE("the logarithm is right to its last bits") {
  const auto off_by = [](uint64_t bits) {
    const long double u = std::ldexp(static_cast<long double>(bits | 1), -64);
    return std::abs(std::ldexp(-std::log2(u), 57) - static_cast<long double>(negative_log2(bits)));
  };
  std::mt19937_64 random(1);
  long double worst = 0;
  for (int i = 0; i < 200'000; ++i) worst = std::max(worst, off_by(random() >> (i % 64)));
  for (unsigned shift = 0; shift < 64; ++shift)
    for (const uint64_t bits : {uint64_t{1} << shift, ~uint64_t{0} >> shift, ~uint64_t{0} << shift})
      worst = std::max(worst, off_by(bits));
  CHECK(worst < 32);
  CHECK(negative_log2(0) == uint64_t{64} << 57);
  CHECK(negative_log2(uint64_t{1} << 63) == (uint64_t{1} << 57));
  CHECK(negative_log2(~uint64_t{0}) >= 1);
  CHECK(negative_log2(~uint64_t{0}) < 32);
}

TEST_CASE("with replacement each sample comes as often as its weight says") {
  for (const size_t size : {1u, 2u, 3u, 10u, 64u, 1000u, 4097u}) {
    for (const Weights& weights : many_weights(size)) {
      const Order order = weighted(weights, true, 200'000);
      REQUIRE(order.size() == 200'000);
      std::vector<int> bins(size);
      for (const uint64_t sample : epoch_of(order, size)) ++bins[sample];
      INFO(size << " samples, the first two weights are " << weights.front() << " and " << weights[size > 1]);
      CHECK(is_likely(bins, shares_of(weights)));
    }
  }
}

TEST_CASE("the judge of weights does not let everything pass") {
  const Order order = weighted({1, 2, 3, 4}, true, 100'000);
  std::vector<int> bins(4);
  for (const uint64_t sample : epoch_of(order, 0)) ++bins[sample];
  CHECK(is_likely(bins, {0.1, 0.2, 0.3, 0.4}));
  CHECK_FALSE(is_likely(bins, {0.1, 0.2, 0.31, 0.39}));
  CHECK_FALSE(is_likely(bins, {0.25, 0.25, 0.25, 0.25}));
}

TEST_CASE("draws of neighbouring positions, epochs and seeds are independent") {
  const Weights weights = many_weights(16)[1];
  const Order order = weighted(weights, true, 100'000), other = weighted(weights, true, 100'000, 18);
  const auto first = epoch_of(order, 3);
  auto shifted = first;
  std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
  Weights pairs;
  for (const double a : shares_of(weights))
    for (const double b : shares_of(weights)) pairs.push_back(a * b);
  for (const auto& second : {shifted, epoch_of(order, 4), epoch_of(other, 3)}) {
    std::vector<int> bins(16 * 16);
    for (size_t i = 0; i < first.size(); ++i) ++bins[first[i] * 16 + second[i]];
    CHECK(is_likely(bins, pairs));
  }
}

TEST_CASE("without replacement no sample comes twice, and all come where all are asked for") {
  std::mt19937_64 random(5);
  for (const size_t size : {1u, 2u, 3u, 10u, 257u, 5000u}) {
    for (const Weights& weights : many_weights(size)) {
      CHECK(is_bijection(epoch_of(weighted(weights, false, size), 2)));
      const uint64_t some = random() % size + 1;
      const auto drawn = epoch_of(weighted(weights, false, some), 2), all = epoch_of(weighted(weights, false, size), 2);
      CHECK(drawn.size() == some);
      CHECK(std::equal(drawn.begin(), drawn.end(), all.begin()));  // fewer are the first ones of more
    }
  }
}

TEST_CASE("without replacement whole orders are as likely as drawing one after another makes them") {
  const Weights weights = {1, 2, 5, 0.25};
  std::map<std::vector<uint64_t>, size_t> places;
  Weights shares;
  std::vector<uint64_t> numbers = {0, 1, 2, 3};
  do {
    double share = 1, left = 8.25;
    for (const uint64_t number : numbers) share *= weights[number] / left, left -= weights[number];
    places[numbers] = shares.size();
    shares.push_back(share);
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  REQUIRE(shares.size() == 24);
  const Order order = weighted(weights, false, 4);
  std::vector<int> bins(24);
  for (uint64_t epoch = 0; epoch < 50'000; ++epoch) ++bins[places.at(epoch_of(order, epoch))];
  CHECK(is_likely(bins, shares));
}

TEST_CASE("without replacement the first position is as the weights say, also beside many others") {
  for (const size_t size : {2u, 10u, 100u}) {
    for (const Weights& weights : many_weights(size)) {
      const Order order = weighted(weights, false, 1);
      std::vector<int> bins(size);
      for (uint64_t epoch = 0; epoch < 20'000; ++epoch) ++bins[EpochOrder(order, epoch)(0)];
      INFO(size << " samples, the first two weights are " << weights.front() << " and " << weights[1]);
      CHECK(is_likely(bins, shares_of(weights)));
    }
  }
}

TEST_CASE("without replacement epochs and seeds are independent") {
  const Weights weights(1000, 1.0);
  const Order order = weighted(weights, false, 1000), other = weighted(weights, false, 1000, 18);
  std::vector<int> epochs(100), seeds(100);
  for (uint64_t epoch = 0; epoch < 100; ++epoch) {
    const auto one = epoch_of(order, epoch), next = epoch_of(order, epoch + 1), another = epoch_of(other, epoch);
    for (size_t i = 0; i < one.size(); ++i) {
      ++epochs[one[i] / 100 * 10 + next[i] / 100];
      ++seeds[one[i] / 100 * 10 + another[i] / 100];
    }
  }
  CHECK(is_likely(epochs, Weights(100, 0.01)));
  CHECK(is_likely(seeds, Weights(100, 0.01)));
}

TEST_CASE("a weighted position is a place: nothing that was asked before matters") {
  const Weights weights = many_weights(500)[4];
  for (const bool replacement : {true, false}) {
    const Order order = weighted(weights, replacement, 400), again = weighted(weights, replacement, 400);
    std::vector<std::vector<uint64_t>> epochs;
    for (uint64_t epoch = 0; epoch < 5; ++epoch) epochs.push_back(epoch_of(order, epoch));
    CHECK(epochs[0] != epochs[1]);
    std::mt19937_64 random(3);
    for (int i = 0; i < 500; ++i) {
      const uint64_t epoch = random() % 5, position = random() % 400;
      const EpochOrder sought(again, epoch);
      REQUIRE(sought(position) == epochs[epoch][position]);
      REQUIRE(sought.pass(position) == EpochOrder(order, epoch).pass(position));
      REQUIRE(sought.substitute(position, 2) == EpochOrder(order, epoch).substitute(position, 2));
    }
  }
}

TEST_CASE("a part of the samples is weighted by its own numbers, and told by ids") {
  const Subset some(100, Subset::Ids{10, 20, 30}, {}, 0);
  for (const bool replacement : {true, false}) {
    const Order order(17, some, {{1, 1e9, 1}, replacement, 1});
    std::map<uint64_t, int> seen;
    for (uint64_t epoch = 0; epoch < 1000; ++epoch) ++seen[EpochOrder(order, epoch)(0)];
    CHECK(seen == std::map<uint64_t, int>{{20, 1000}});
  }
}

TEST_CASE("a sample that comes again looks different: its pass is another") {
  const Order order = weighted(Weights(3, 1.0), true, 50'000);
  std::set<uint64_t> passes;
  for (const uint64_t epoch : {0u, 1u, 2u})
    for (uint64_t position = 0; position < 50'000; ++position) passes.insert(EpochOrder(order, epoch).pass(position));
  CHECK(passes.size() == 150'000);
  CHECK(EpochOrder(weighted(Weights(3, 1.0), false, 3), 5).pass(2) == 5);
  CHECK(EpochOrder(Order({}, Subset(3)), 5).pass(2) == 5);
}

TEST_CASE("a substitute is drawn by weight among the others, and there is one beside the heaviest as well") {
  const Weights weights = {1, 2, 3, 4};
  const Order order = weighted(weights, true, 100'000);
  const EpochOrder epoch(order, 1);
  std::vector<std::vector<int>> bins(4, std::vector<int>(4));
  for (uint64_t position = 0; position < 100'000; ++position) ++bins[epoch(position)][epoch.substitute(position, 1)];
  for (size_t bad = 0; bad < 4; ++bad) {
    Weights others = weights;
    others[bad] = 0;
    CHECK(bins[bad][bad] == 0);
    CHECK(is_likely(bins[bad], shares_of(others)));
  }
  CHECK(epoch.substitute(7, 1) == EpochOrder(order, 1).substitute(7, 1));

  const Order heavy = weighted({1, 1e15, 1}, true, 1000);
  std::vector<int> beside(3);
  for (uint64_t position = 0; position < 1000; ++position) ++beside[EpochOrder(heavy, 0).substitute(position, 1)];
  CHECK(is_likely(beside, {0.5, 1e-9, 0.5}));
  CHECK(beside[1] == 0);
  CHECK(EpochOrder(weighted({3}, true, 10), 0).substitute(1, 1) == 0);

  const Order once = weighted(weights, false, 2);
  for (uint64_t e = 0; e < 100; ++e) CHECK(EpochOrder(once, e).substitute(1, 1) != EpochOrder(once, e)(1));
}

// As those of tests/sampler/order_test.cpp: a change here is another order.
TEST_CASE("golden weighted orders of version 1") {
  CHECK(kOrderVersion == 1);
  const Weights weights = {1, 2, 3, 4, 5, 0.125};
  const Order with = weighted(weights, true, 10), without = weighted(weights, false, 6);
  CHECK(epoch_of(with, 0) == std::vector<uint64_t>{4, 3, 2, 3, 3, 3, 1, 4, 4, 2});
  CHECK(epoch_of(with, 1) == std::vector<uint64_t>{2, 4, 4, 3, 4, 3, 4, 3, 2, 2});
  CHECK(epoch_of(without, 0) == std::vector<uint64_t>{3, 2, 4, 0, 5, 1});
  CHECK(epoch_of(without, 1) == std::vector<uint64_t>{4, 1, 3, 2, 0, 5});
  CHECK(EpochOrder(with, 1).pass(2) == 17235469408947973867u);
  CHECK(EpochOrder(with, 1).substitute(2, 1) == 3);
  CHECK(negative_log2(0x123456789ABCDEF0) == 549623793652404946);
}

}  // namespace spdld::weighted_test
