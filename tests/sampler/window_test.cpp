// shuffle = "window": archives in random order, and blocks of W positions shuffled.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "daemon/sampler/order.h"
#include "tests/sampler/judge.h"

namespace spdld::window_test {

using namespace spdld::sampler;
using namespace spdld::test;
using spdld::config::Shuffle;

namespace {

std::vector<uint64_t> starts_of(uint64_t size, uint64_t archive) {
  std::vector<uint64_t> starts;
  for (uint64_t id = 0; id < size; id += archive) starts.push_back(id);
  return starts;
}

Order windowed(uint64_t size, uint64_t window, const std::vector<uint64_t>& starts, uint64_t seed = 17) {
  return Order({Shuffle::kWindow, seed, window}, Subset(size), starts);
}

std::vector<uint64_t> whole_epoch(const Order& order, uint64_t epoch) {
  const EpochOrder of_epoch(order, epoch);
  std::vector<uint64_t> samples(order.size());
  for (uint64_t i = 0; i < order.size(); ++i) samples[i] = of_epoch(i);
  return samples;
}

}  // namespace

TEST_CASE("windows: an epoch is a bijection for every size, window and cut into archives") {
  for (uint64_t size = 1; size <= 60; ++size) {
    for (uint64_t window = 1; window <= size + 2; ++window) {
      for (const uint64_t archive : {uint64_t{1}, uint64_t{7}, uint64_t{16}, size}) {
        REQUIRE(is_bijection(whole_epoch(windowed(size, window, starts_of(size, archive)), size + window)));
      }
    }
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    const uint64_t size = random() % 5000 + 1;
    std::vector<uint64_t> starts(random() % 40);
    for (uint64_t& start : starts) start = random() % (size + 1);  // empty archives as well, also at the end
    std::sort(starts.begin(), starts.end());
    REQUIRE(is_bijection(whole_epoch(windowed(size, random() % 700 + 1, starts, random()), random())));
  }
}

TEST_CASE("windows: what lies ahead is read archive by archive, and comes in the window that it belongs to") {
  constexpr uint64_t kSize = 1000, kWindow = 90;
  const Order order = windowed(kSize, kWindow, starts_of(kSize, 70));
  const EpochOrder epoch(order, 4);
  std::vector<uint64_t> ahead;
  for (uint64_t position = 0; position < kSize; ++position) {
    CHECK_FALSE(epoch.ahead(position, kSize - position));
    ahead.push_back(epoch.ahead(position, 0).value());
    if (position > 0 && ahead.back() % 70 != 0) CHECK(ahead.back() == ahead[position - 1] + 1);
  }
  for (uint64_t first = 0; first < kSize; first += kWindow) {
    const uint64_t end = std::min(first + kWindow, kSize);
    std::set<uint64_t> come,
        expected(ahead.begin() + static_cast<ptrdiff_t>(first), ahead.begin() + static_cast<ptrdiff_t>(end));
    for (uint64_t position = first; position < end; ++position) come.insert(epoch(position));
    CHECK(come == expected);
  }
  CHECK(epoch.ahead(3, 50) == ahead[53]);
  const Order off({Shuffle::kOff, 17, 0}, Subset(kSize)), global({Shuffle::kGlobal, 17, 0}, Subset(kSize));
  CHECK(EpochOrder(off, 0).ahead(3, 50) == 53);
  CHECK_FALSE(EpochOrder(global, 0).ahead(3, 50));
}

TEST_CASE("windows: without archives all is one, of which the windows come in order") {
  const auto samples = whole_epoch(windowed(1000, 100, {}), 3);
  for (uint64_t i = 0; i < 1000; ++i) CHECK(samples[i] / 100 == i / 100);
}

// What the header promises of reads from slow storage, also where archives differ in size.
TEST_CASE("windows: a window touches no more archives than so many samples in sequence can") {
  std::mt19937_64 random(8);
  for (int i = 0; i < 60; ++i) {
    const uint64_t archive = random() % 300 + 1, window = random() % 2000 + 1, size = archive * (random() % 60 + 2);
    const auto samples = whole_epoch(windowed(size, window, starts_of(size, archive)), random());
    INFO("archives of " << archive << ", window " << window << ", size " << size);
    for (uint64_t first = 0; first < size; first += window) {
      std::set<uint64_t> open;
      for (uint64_t p = first; p < std::min(size, first + window); ++p) open.insert(samples[p] / archive);
      REQUIRE(open.size() <= (window + archive - 1) / archive + 1);
    }
    // An archive that has been left is not opened again.
    std::map<uint64_t, std::set<uint64_t>> blocks;
    for (uint64_t p = 0; p < size; ++p) blocks[samples[p] / archive].insert(p / window);
    for (const auto& [which, of_archive] : blocks) {
      REQUIRE(*of_archive.rbegin() - *of_archive.begin() + 1 == of_archive.size());
    }
  }
}

TEST_CASE("windows: over the epochs every archive is read at every place equally often") {
  constexpr uint64_t kArchives = 12, kEach = 5;
  constexpr int kEpochs = 20000;
  const Order order = windowed(kArchives * kEach, 1, starts_of(kArchives * kEach, kEach));
  std::vector<int> bins(kArchives * kArchives);
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const EpochOrder of_epoch(order, epoch);
    for (uint64_t i = 0; i < kArchives; ++i) ++bins[i * kArchives + of_epoch(i * kEach) / kEach];
  }
  const double n = kArchives;
  CHECK(chi_square(bins, kEpochs / n) * n / (n - 1) < chi_square_limit((n - 1) * (n - 1)));
}

TEST_CASE("windows: inside one, samples and pairs of neighbours look shuffled, and no two windows are alike") {
  constexpr uint64_t kWindow = 20000, kSize = 3 * kWindow;
  const auto samples = whole_epoch(windowed(kSize, kWindow, {}), 6);
  constexpr size_t kCells = 16;
  const auto cell = [](uint64_t value) { return value % kWindow * kCells / kWindow; };
  std::vector<int> places(kCells * kCells), pairs(kCells * kCells), windows(kCells * kCells);
  uint64_t neighbours = 0;
  for (uint64_t i = 0; i + 1 < kWindow; ++i) {
    ++places[cell(i) * kCells + cell(samples[i])];
    ++pairs[cell(samples[i]) * kCells + cell(samples[i + 1])];
    ++windows[cell(samples[i]) * kCells + cell(samples[i + kWindow])];
    neighbours += samples[i] + 1 == samples[i + 1];
  }
  const double expected = static_cast<double>(kWindow) / (kCells * kCells);
  CHECK(chi_square(places, expected) < chi_square_limit(225));
  CHECK(chi_square(pairs, expected) < chi_square_limit(225));
  CHECK(chi_square(windows, expected) < chi_square_limit(225));
  CHECK(neighbours < 10);  // one is expected
}

TEST_CASE("windows: each position of one gets each of its samples equally often over the epochs") {
  constexpr uint64_t kWindow = 11;
  constexpr int kEpochs = 20000;
  const Order order = windowed(4 * kWindow, kWindow, {});
  for (const uint64_t first : {uint64_t{0}, 2 * kWindow}) {
    std::vector<int> bins(kWindow * kWindow);
    for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const EpochOrder of_epoch(order, epoch);
      for (uint64_t i = 0; i < kWindow; ++i) ++bins[i * kWindow + of_epoch(first + i) - first];
    }
    const double n = kWindow;
    CHECK(chi_square(bins, kEpochs / n) * n / (n - 1) < chi_square_limit((n - 1) * (n - 1)));
  }
}

TEST_CASE("windows: the archives' order and the windows' are independent of one another") {
  // With the same keys, a window of as many samples as there are archives would be shuffled as they are.
  const Order order = windowed(1000, 1000, starts_of(1000, 1));
  const Order in_order = windowed(1000, 1, starts_of(1000, 1));
  const auto both = whole_epoch(order, 2), archives = whole_epoch(in_order, 2);
  int same = 0;
  for (size_t i = 0; i < 1000; ++i) same += both[i] == archives[i] ? 1 : 0;
  CHECK(same < 10);
  CHECK(both != whole_epoch(order, 3));
}

TEST_CASE("windows: of a subset, archives without a sample of it are not there") {
  const std::vector<uint64_t> starts = {0, 10, 20, 30, 40};
  const Subset::Ids ids = {3, 4, 12, 31, 33, 38, 49};
  const Order order({Shuffle::kWindow, 1, 1}, Subset(50, ids, {}, 0), starts);
  const auto samples = whole_epoch(order, 0);
  std::vector<uint64_t> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == ids);
  for (size_t i = 0; i + 1 < samples.size(); ++i) {  // those of an archive follow one another, in order
    if (samples[i] / 10 == samples[i + 1] / 10) CHECK(samples[i] < samples[i + 1]);
  }
  std::vector<uint64_t> archives;
  for (const uint64_t sample : samples) {
    if (archives.empty() || archives.back() != sample / 10) archives.push_back(sample / 10);
  }
  CHECK(archives.size() == 4);
}

// If this fails, runs resumed from a position token would see other samples: bump kOrderVersion, or put the order back.
TEST_CASE("windows: golden orders of version 1") {
  CHECK(kOrderVersion == 1);
  CHECK(whole_epoch(windowed(12, 4, {0, 5, 9}), 1) == std::vector<uint64_t>{0, 2, 1, 3, 10, 4, 9, 11, 8, 7, 5, 6});
  CHECK(EpochOrder(windowed(1281167, 10000, starts_of(1281167, 1000)), 89)(640000) == 562404);
}

TEST_CASE("windows: a billion samples cost no memory that grows with them, and any place is near") {
  constexpr uint64_t kSize = 1'000'000'000;
  const auto starts = starts_of(kSize, 1'000'000);
  const Order order = windowed(kSize, 10'000, starts);
  const EpochOrder epoch(order, 7);
  std::set<uint64_t> seen;
  for (const uint64_t position : {uint64_t{0}, uint64_t{1}, kSize / 2, kSize - 2, kSize - 1}) {
    CHECK(epoch(position) < kSize);
    CHECK(seen.insert(epoch(position)).second);
  }
}

}  // namespace spdld::window_test
