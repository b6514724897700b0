#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <vector>

#include "tests/cache/entries.h"
#include "tests/support/temp_dir.h"

namespace spdld::threads_test {

using namespace spdld;
using namespace spdld::test;
using cache::Cache;
using cache::Found;

namespace {

struct Faults {
  std::atomic<uint64_t> wrong_bytes{0}, over_limit{0}, hits{0}, kept{0};
};

constexpr uint64_t kEnough = 1000;  // hits and kept entries, so that the threads really met
constexpr int kTurnsMin = 60, kTurnsMax = 3000;

// What pipelines do, in an order drawn by chance: they open and close shelves, look up, put, drop and give up. How
// often an entry is found depends on how the threads are scheduled, so the threads go on until they have found enough.
void use_shelves(Cache& cache, uint64_t limit, unsigned seed, Faults& faults) {
  constexpr uint64_t kSamples = 300;
  std::minstd_rand random(seed);
  const auto draw = [&](uint64_t below) { return random() % below; };
  const auto met_enough = [&] { return faults.hits > kEnough && faults.kept > kEnough; };
  for (int turn = 0; turn < kTurnsMin || (turn < kTurnsMax && !met_enough()); ++turn) {
    const auto shelf = cache.open(shelf_key("s" + std::to_string(draw(4))), kSamples);
    for (int i = 0; i < 60; ++i) {
      const uint64_t sample = draw(kSamples), bytes = 1 + draw(draw(20) == 0 ? 200'000 : 9000);
      const auto found = shelf->find(sample);
      if (found.where == Found::Where::kMemory) {
        ++faults.hits;
        if (!is_entry_of(sample, found.memory, found.bytes) || found.identity != identity_of(sample)) {
          ++faults.wrong_bytes;
        }
        if (!found.confirmed) shelf->confirm(sample);
        if (draw(40) == 0) shelf->drop(sample, false);
      } else if (draw(10) == 0) {
        const auto given_up = shelf->reserve(sample, bytes);
      } else if (put_in_memory(*shelf, sample, bytes)) {
        ++faults.kept;
      } else {
        put_on_disk(*shelf, sample, bytes);
      }
      if (cache.report().ram_bytes > limit) ++faults.over_limit;
    }
  }
}

}  // namespace

TEST_CASE("the limit holds, and nobody's bytes change, under many threads") {
  const TempDir dir;
  const uint64_t limit = 2 * kMiB + 4321;
  Faults faults;
  {
    Cache cache({.ram_bytes_max = limit, .folder = dir.path() / "cache", .disk_bytes_max = kMiB});
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 8; ++i) threads.emplace_back([&, i] { use_shelves(cache, limit, i + 1, faults); });
    threads.clear();
    for (const auto& line : cache.report().shelves) {
      CHECK_FALSE(line.in_use);
      CHECK(line.memory_bytes <= limit);
    }
  }
  CHECK(faults.over_limit == 0);
  CHECK(faults.wrong_bytes == 0);
  CHECK(faults.hits > kEnough);
  CHECK(faults.kept > kEnough);
  CHECK(bytes_below(dir.path()) <= kMiB);
}

TEST_CASE("one of many threads that want to make the same entry makes it") {
  Cache cache({.ram_bytes_max = 8 * kMiB});
  const auto shelf = cache.open(shelf_key("a"), 500);
  std::atomic<uint64_t> made{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < 500; ++i) made += put_in_memory(*shelf, i, 2000) ? 1 : 0;
      });
    }
  }
  CHECK(made == 500);
  CHECK(shelf->report().memory_entries == 500);
  for (uint64_t i = 0; i < 500; ++i) CHECK(is_in_memory(*shelf, i));
}

TEST_CASE("entries on disk are found while others are written") {
  const TempDir dir;
  Cache cache({.folder = dir.path() / "cache", .disk_bytes_max = 64 * kMiB});
  const auto shelf = cache.open(shelf_key("a"), 400);
  std::atomic<uint64_t> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < 400; ++i) {
          put_on_disk(*shelf, (i + t * 100) % 400, 3000);
          const uint64_t sample = (i * 7) % 400;
          if (shelf->find(sample).where == Found::Where::kDisk && !is_on_disk(*shelf, sample)) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
}

}  // namespace spdld::threads_test
