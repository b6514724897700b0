#include "daemon/sampler/order.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <vector>

#include "tests/sampler/judge.h"

namespace spdld::order_test {

using namespace spdld::sampler;
using namespace spdld::test;
using spdld::config::Shuffle;

namespace {

Order plain(uint64_t size, uint64_t seed, Shuffle shuffle = Shuffle::kGlobal) {
  return Order({shuffle, seed, 0}, Subset(size));
}

Permutation order_permutation(uint64_t size, uint64_t seed, uint64_t epoch) {
  return {size, spdld::Draw(seed, epoch, 0, spdld::draw_key("order"))};
}

std::vector<uint64_t> whole_epoch(uint64_t size, uint64_t seed, uint64_t epoch) {
  const Permutation permutation = order_permutation(size, seed, epoch);
  std::vector<uint64_t> samples(size);
  for (uint64_t i = 0; i < size; ++i) samples[i] = permutation(i);
  return samples;
}

}  // namespace

TEST_CASE("an epoch is a bijection for every size") {
  for (uint64_t size = 1; size <= 300; ++size) {
    for (uint64_t epoch = 0; epoch < 4; ++epoch) REQUIRE(is_bijection(whole_epoch(size, 7, epoch)));
  }
  for (const uint64_t size :
       {1009u, 1023u, 1024u, 1025u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, 104729u, 1281167u}) {
    REQUIRE(is_bijection(whole_epoch(size, 17, 3)));
  }
}

TEST_CASE("huge sizes stay in range and don't repeat") {
  for (const uint64_t size : {(uint64_t{1} << 32) + 1, (uint64_t{1} << 62) - 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    const Permutation permutation = order_permutation(size, 1, 0);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < 2000; ++i) {
      for (const uint64_t position : {i, size - 1 - i, size / 2 + i}) {
        const uint64_t sample = permutation(position);
        REQUIRE(sample < size);
        REQUIRE(seen.insert(sample).second);
      }
    }
  }
}

// If this fails, runs resumed from a position token would see other samples: bump kOrderVersion, or put the order back.
TEST_CASE("golden orders of version 1") {
  CHECK(kOrderVersion == 1);
  CHECK(whole_epoch(10, 17, 0) == std::vector<uint64_t>{7, 1, 4, 6, 0, 2, 8, 9, 3, 5});
  CHECK(whole_epoch(10, 17, 1) == std::vector<uint64_t>{1, 6, 2, 8, 7, 9, 0, 5, 3, 4});
  const Permutation imagenet = order_permutation(1281167, 17, 89);
  CHECK(imagenet(0) == 503725);
  CHECK(imagenet(640000) == 658154);
  CHECK(imagenet(1281166) == 372971);
  CHECK(order_permutation(uint64_t{1} << 63, 1, 2)(3) == 4847139930596290555u);
  const Order thousand = plain(1000, 17);
  CHECK(EpochOrder(thousand, 2).substitute(5, 1) == 709);
  CHECK(EpochOrder(thousand, 2).substitute(5, 2) == 475);
}

TEST_CASE("every position gets every sample equally often over the epochs") {
  for (const uint64_t size : {2u, 3u, 5u, 8u, 10u, 16u, 31u, 33u, 64u}) {
    constexpr int kEpochs = 20000;
    std::vector<int> bins(size * size);
    for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation permutation = order_permutation(size, 99, epoch);
      for (uint64_t i = 0; i < size; ++i) ++bins[i * size + permutation(i)];
    }
    const auto n = static_cast<double>(size);
    INFO("size " << size);
    // Rows and columns both sum up to kEpochs: (n-1)^2 degrees of freedom, and each cell varies by (n-1)/n of
    // Poisson's.
    CHECK(chi_square(bins, kEpochs / n) * n / (n - 1) < chi_square_limit((n - 1) * (n - 1)));
  }
}

TEST_CASE("small orders are all reached, equally often") {
  for (const uint64_t size : {2u, 3u, 4u, 5u, 6u}) {
    std::map<std::vector<uint64_t>, int> seen;
    int orders = 1;
    for (int i = 2; i <= static_cast<int>(size); ++i) orders *= i;
    const int epochs = orders * 100;
    for (int epoch = 0; epoch < epochs; ++epoch) ++seen[whole_epoch(size, 5, static_cast<uint64_t>(epoch))];
    INFO("size " << size);
    CHECK(seen.size() == static_cast<size_t>(orders));
    std::vector<int> bins;
    for (const auto& [order, n] : seen) bins.push_back(n);
    CHECK(chi_square(bins, 100) < chi_square_limit(orders - 1));
  }
}

TEST_CASE("one epoch looks shuffled: samples over positions, and pairs of neighbours") {
  for (const uint64_t size : {10007u, 65536u, 200000u}) {
    const auto samples = whole_epoch(size, 3, 0);
    constexpr size_t kCells = 16;
    const auto cell = [&](uint64_t value) { return value * kCells / size; };
    std::vector<int> places(kCells * kCells), pairs(kCells * kCells);
    uint64_t neighbours = 0;
    for (size_t i = 0; i + 1 < size; ++i) {
      ++places[cell(i) * kCells + cell(samples[i])];
      ++pairs[cell(samples[i]) * kCells + cell(samples[i + 1])];
      neighbours += samples[i] + 1 == samples[i + 1];
    }
    const double expected = static_cast<double>(size) / (kCells * kCells);
    INFO("size " << size);
    CHECK(chi_square(places, expected) < chi_square_limit(225));
    CHECK(chi_square(pairs, expected) < chi_square_limit(225));
    CHECK(neighbours < 10);  // one is expected
  }
}

TEST_CASE("epochs and seeds are independent of one another") {
  constexpr uint64_t kSize = 50000;
  const auto first = whole_epoch(kSize, 3, 0);
  for (const auto& other : {whole_epoch(kSize, 3, 1), whole_epoch(kSize, 4, 0), whole_epoch(kSize, 0, 3)}) {
    constexpr size_t kCells = 16;
    std::vector<int> cells(kCells * kCells);
    int same = 0;
    for (size_t i = 0; i < kSize; ++i) {
      ++cells[first[i] * kCells / kSize * kCells + other[i] * kCells / kSize];
      same += first[i] == other[i] ? 1 : 0;
    }
    CHECK(chi_square(cells, static_cast<double>(kSize) / cells.size()) < chi_square_limit(225));
    CHECK(same < 10);  // one is expected
  }
}

TEST_CASE("an epoch's order is the permutation, or the identity without shuffling") {
  const Permutation permutation = order_permutation(1000, 8, 2);
  const Order shuffled = plain(1000, 8), unshuffled = plain(1000, 8, Shuffle::kOff);
  const EpochOrder epoch(shuffled, 2), plain_epoch(unshuffled, 2);
  CHECK(epoch.epoch() == 2);
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(epoch(i) == permutation(i));
    CHECK(plain_epoch(i) == i);
  }
}

TEST_CASE("a substitute is another sample, depends on the attempt, and is spread evenly") {
  const Order order = plain(50, 4);
  const EpochOrder epoch(order, 1);
  std::vector<int> bins(50);
  for (uint64_t position = 0; position < 50; ++position) {
    const uint64_t bad = epoch(position);
    std::set<uint64_t> tried;
    for (uint32_t attempt = 1; attempt <= 400; ++attempt) {
      const uint64_t other = epoch.substitute(position, attempt);
      REQUIRE(other < 50);
      REQUIRE(other != bad);
      ++bins[other];
      tried.insert(other);
    }
    CHECK(tried.size() >= 45);
  }
  CHECK(chi_square(bins, 400) < chi_square_limit(49));
  const Order one = plain(1, 4), two = plain(2, 4, Shuffle::kOff);
  CHECK(EpochOrder(one, 0).substitute(0, 1) == 0);
  CHECK(EpochOrder(two, 0).substitute(0, 1) == 1);
  CHECK(EpochOrder(two, 0).substitute(1, 9) == 0);
}

TEST_CASE("a subset is ordered like a data set of its size, and its substitutes are its own") {
  const Subset::Ids ids = {3, 5, 6, 7, 20, 40};
  const Order order({Shuffle::kGlobal, 9, 0}, Subset(50, ids, {}, 0)), plain_order = plain(6, 9);
  const EpochOrder epoch(order, 4), numbers(plain_order, 4);
  CHECK(order.size() == 6);
  for (uint64_t i = 0; i < 6; ++i) {
    CHECK(epoch(i) == ids[numbers(i)]);
    for (uint32_t attempt = 1; attempt < 20; ++attempt) {
      CHECK(epoch.substitute(i, attempt) == ids[numbers.substitute(i, attempt)]);
    }
  }
}

TEST_CASE("repeats are the positions of a sample, one after another, in each kind of order") {
  const std::vector<uint64_t> archive_starts = {0, 10, 35};
  for (const Shuffle shuffle : {Shuffle::kGlobal, Shuffle::kOff, Shuffle::kWindow}) {
    const uint64_t window = shuffle == Shuffle::kWindow ? 8 : 0;
    const Order once({shuffle, 9, window}, Subset(50), archive_starts);
    const Order thrice({shuffle, 9, window, 3}, Subset(50), archive_starts);
    CHECK(thrice.size() == 150);
    for (const uint64_t epoch : {0, 5}) {
      const EpochOrder single(once, epoch), repeated(thrice, epoch);
      for (uint64_t i = 0; i < 150; ++i) CHECK(repeated(i) == single(i / 3));
      for (uint64_t i = 0; i < 120; ++i) CHECK(repeated.ahead(i, 30) == single.ahead(i / 3, 10));
      CHECK_FALSE(repeated.ahead(120, 30));
    }
  }
}

TEST_CASE("each repeat of a sample has draws and substitutes of its own") {
  const Order order({Shuffle::kGlobal, 9, 0, 3}, Subset(50));
  std::set<uint64_t> passes;
  for (uint64_t epoch = 0; epoch < 1000; ++epoch)
    for (uint64_t i = 30; i < 33; ++i) passes.insert(EpochOrder(order, epoch).pass(i));
  CHECK(passes.size() == 3000);
  const EpochOrder epoch(order, 7);
  CHECK(epoch.pass(30) == 7);  // as the sample that is not repeated
  int differ = 0;
  for (uint32_t attempt = 1; attempt < 20; ++attempt) {
    CHECK(epoch.substitute(31, attempt) != epoch(31));
    differ += epoch.substitute(30, attempt) != epoch.substitute(31, attempt);
  }
  CHECK(differ > 10);
}

}  // namespace spdld::order_test
