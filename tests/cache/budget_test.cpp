// The cache's budgets over long random runs of shelves that are filled, refused, dropped, evicted and used again. The
// disk is held to a simple model, which says each entry that is kept and each byte that is counted.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "daemon/cache/disk/disk_shelf.h"
#include "tests/cache/entries.h"
#include "tests/support/soon.h"
#include "tests/support/temp_dir.h"

namespace spdld::budget_test {

using namespace spdld;
using namespace spdld::test;
using cache::Cache;
using cache::Shelf;

namespace {

constexpr size_t kShelves = 5;
constexpr uint64_t kSamples = 40;
constexpr uint64_t kOverhead = cache::DiskShelf::kOverheadBytes, kRecord = cache::kIndexRecordBytes;

cache::ShelfKey key_of(size_t shelf) { return shelf_key("shelf-" + std::to_string(shelf)); }

// What the disk tier promises.
class Model {
 public:
  struct Kept {
    uint64_t bytes = 0;  // of its files, as the limit counts them; 0: there is no folder
    bool is_held = false;
    uint64_t used_last = 0;
    std::map<uint64_t, uint64_t> entries = {};  // their sizes
    std::set<uint64_t> dropped = {};            // whether these come back with the index is left open
  };

  explicit Model(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  uint64_t used() const {
    return sum([](const Kept&) { return true; });
  }
  uint64_t available() const {
    return bytes_max_ - sum([](const Kept& kept) { return kept.is_held; });
  }
  uint64_t free() const { return bytes_max_ - used(); }
  uint64_t need(size_t shelf, uint64_t bytes) const { return (shelves[shelf].bytes ? 0 : kOverhead) + kRecord + bytes; }
  bool has_room(size_t shelf, uint64_t bytes) const {
    const uint64_t wanted = need(shelf, bytes);
    return wanted <= free() || (wanted <= bytes_max_ && longest_unused() != nullptr);
  }
  // Whether the entry is queued; it is kept only where enough shelves may go.
  bool put(size_t shelf, uint64_t sample, uint64_t bytes) {
    if (shelves[shelf].entries.contains(sample) || !has_room(shelf, bytes)) return false;
    while (need(shelf, bytes) > free() && longest_unused()) *longest_unused() = {};
    if (need(shelf, bytes) > free()) return true;
    shelves[shelf].bytes += need(shelf, bytes);
    shelves[shelf].entries[sample] = bytes;
    shelves[shelf].dropped.erase(sample);
    return true;
  }
  void set_held(size_t shelf, bool is_held) {
    shelves[shelf].is_held = is_held;
    shelves[shelf].used_last = ++clock_;
  }
  // The shelves used last stay, as far as the new limit has room.
  void restart(uint64_t bytes_max) {
    bytes_max_ = bytes_max;
    std::array<Kept*, kShelves> order;
    for (size_t i = 0; i < kShelves; ++i) order[i] = &shelves[i];
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->used_last > b->used_last; });
    uint64_t taken = 0;
    for (Kept* kept : order) {
      kept->is_held = false;
      if (kept->bytes > bytes_max - taken) {
        *kept = {};
      } else {
        taken += kept->bytes;
      }
    }
  }

  std::array<Kept, kShelves> shelves;

 private:
  template <class Which>
  uint64_t sum(const Which& which) const {
    uint64_t bytes = 0;
    for (const Kept& kept : shelves) bytes += which(kept) ? kept.bytes : 0;
    return bytes;
  }
  Kept* longest_unused() {
    Kept* best = nullptr;
    for (Kept& kept : shelves)
      if (kept.bytes && !kept.is_held && (!best || kept.used_last < best->used_last)) best = &kept;
    return best;
  }
  const Kept* longest_unused() const { return const_cast<Model*>(this)->longest_unused(); }

  uint64_t bytes_max_, clock_ = 0;
};

class DiskRun {
 public:
  explicit DiskRun(uint32_t seed) : random_(seed) {}

  void step() {
    const size_t shelf = below(kShelves);
    if (below(40) == 0) return restart();
    if (!held_[shelf] || below(12) == 0) return turn(shelf);
    if (below(6) == 0) return drop(shelf);
    if (below(10) == 0) return burst(shelf);
    put(shelf, below(kSamples), below(12) ? 1 + below(60'000) : bytes_max_);
  }
  // Waits until all is written, and holds every count to the model.
  void check() {
    const auto agrees = [&] {
      return cache_->report().disk_bytes == model_.used() && cache_->available_disk_bytes() == model_.available();
    };
    CHECK(test::soon(agrees));
    REQUIRE(cache_->report().disk_bytes == model_.used());
    REQUIRE(cache_->available_disk_bytes() == model_.available());
    for (size_t i = 0; i < kShelves; ++i) {
      if (!held_[i]) continue;
      for (const auto& [sample, size] : model_.shelves[i].entries)
        REQUIRE(test::soon([&, sample = sample] { return is_on_disk(*held_[i], sample); }));
      const uint64_t bytes = 1 + below(200'000);
      REQUIRE(held_[i]->has_disk_room(bytes) == model_.has_room(i, bytes));
    }
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  void turn(size_t shelf) {
    model_.set_held(shelf, !held_[shelf]);
    if (held_[shelf]) {
      held_[shelf] = nullptr;
    } else {
      held_[shelf] = cache_->open(key_of(shelf), kSamples);
    }
  }
  void put(size_t shelf, uint64_t sample, uint64_t bytes) {
    if (model_.shelves[shelf].dropped.contains(sample)) return;
    REQUIRE(put_on_disk(*held_[shelf], sample, bytes) == model_.put(shelf, sample, bytes));
  }
  void drop(size_t shelf) {
    auto& kept = model_.shelves[shelf];
    if (kept.entries.empty()) return;
    const uint64_t sample = kept.entries.begin()->first;
    held_[shelf]->drop(sample, false);
    kept.entries.erase(sample);
    // What takes its place is written behind it.
    const uint64_t bytes = 1 + below(20'000);
    REQUIRE(put_on_disk(*held_[shelf], sample, bytes) == model_.put(shelf, sample, bytes));
    if (!kept.entries.contains(sample)) kept.dropped.insert(sample);
  }
  // Entries that all have room wait in the queue together.
  void burst(size_t shelf) {
    const uint64_t bytes = 1 + below(3000);
    if (model_.free() < kSamples * (kOverhead + kRecord + bytes)) return;
    for (uint64_t sample = 0; sample < kSamples; ++sample) put(shelf, sample, bytes);
  }
  void restart() {
    for (size_t i = 0; i < kShelves; ++i)
      if (held_[i]) turn(i);
    cache_.reset();
    bytes_max_ = below(2) ? kMiB : kMiB / 2 + below(kMiB / 2);
    model_.restart(bytes_max_);
    cache_.emplace(settings());
  }
  cache::Settings settings() const { return {.folder = dir_.path() / "cache", .disk_bytes_max = bytes_max_}; }

  TempDir dir_;
  std::mt19937 random_;
  uint64_t bytes_max_ = kMiB;
  Model model_{kMiB};
  std::optional<Cache> cache_{settings()};
  std::array<std::shared_ptr<Shelf>, kShelves> held_;
};

// A room that is held for a while, and perhaps never kept.
void reserve_in_vain(Shelf& shelf, uint64_t sample, uint64_t bytes) {
  const auto room = shelf.reserve(sample, bytes);
  if (room) std::fill_n(room.memory(), bytes, uint8_t{1});
}

}  // namespace

TEST_CASE("the disk's budget holds over shelves that are filled, refused, evicted and used again") {
  const uint32_t seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  DiskRun run(seed);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    run.step();
    run.check();
  }
}

TEST_CASE("an entry for which the disk's writer has no time takes nothing of the budget") {
  constexpr uint64_t kLarge = 40 * kMiB, kMax = 2048 * kMiB;  // two of them are more than may wait for the writer
  const TempDir dir;
  Cache cache({.folder = dir.path() / "cache", .disk_bytes_max = kMax});
  const auto shelf = cache.open(key_of(0), kSamples);
  // Made once: between two puts, the writer would have to write a whole entry while this thread goes round a loop.
  const auto entry = entry_of(0, kLarge);
  uint64_t tried = 0;
  for (; shelf->report().refused == 0 && tried < 20; ++tried) {
    shelf->put_on_disk(tried, identity_of(tried), entry.data(), kLarge);
  }
  REQUIRE(shelf->report().refused == 1);
  REQUIRE(test::soon([&] { return shelf->report().disk_entries == tried - 1; }));
  CHECK(test::soon([&] { return cache.available_disk_bytes() == kMax - cache.report().disk_bytes; }));
}

TEST_CASE("what a shelf on disk takes is counted alike while it is filled and by the next daemon") {
  const TempDir dir;
  const cache::Settings settings{.folder = dir.path() / "cache", .disk_bytes_max = kMiB};
  uint64_t counted = 0;
  {
    Cache cache(settings);
    const auto shelf = cache.open(key_of(0), kSamples);
    for (uint64_t i = 0; i < 9; ++i) REQUIRE(put_on_disk(*shelf, i, 1000 + i));
    REQUIRE(test::soon([&] { return is_on_disk(*shelf, 8); }));
    shelf->drop(3, false);
    REQUIRE(put_on_disk(*shelf, 3, 5000));
    REQUIRE(test::soon([&] { return is_on_disk(*shelf, 3); }));
    CHECK(test::soon([&] { return cache.available_disk_bytes() == kMiB - cache.report().disk_bytes; }));
    counted = cache.report().disk_bytes;
  }
  CHECK(counted == kOverhead + 10 * kRecord + 9 * 1000 + 36 + 5000);
  Cache cache(settings);
  CHECK(cache.report().disk_bytes == counted);
  const auto shelf = cache.open(key_of(0), kSamples);
  CHECK(cache.report().disk_bytes == counted);
}

TEST_CASE("memory that was taken, refused and given back is there again when no shelf is used") {
  const uint32_t seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  constexpr uint64_t kMax = kMiB + 12'345;
  std::mt19937 random(seed);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  Cache cache({.ram_bytes_max = kMax});
  std::array<std::shared_ptr<Shelf>, kShelves> held;
  std::optional<Shelf::Room> outlives;  // its shelf
  for (int i = 0; i < 3000; ++i) {
    auto& shelf = held[below(kShelves)];
    const uint64_t sample = below(kSamples), bytes = below(20) ? 1 + below(60'000) : kMax + below(2);
    if (!shelf) {
      shelf = cache.open(key_of(static_cast<size_t>(&shelf - held.data())), kSamples);
    } else if (below(30) == 0) {
      if (below(2)) outlives.emplace(shelf->reserve(sample, bytes));
      shelf = nullptr;
    } else if (below(5) == 0) {
      shelf->drop(sample, false);
    } else if (below(5) == 0) {
      reserve_in_vain(*shelf, sample, bytes);
    } else {
      put_in_memory(*shelf, sample, bytes);
    }
    REQUIRE(cache.report().ram_bytes <= kMax);
    REQUIRE(cache.available_bytes() <= kMax);
  }
  outlives.reset();
  held = {};
  CHECK(cache.available_bytes() == kMax);
  Cache fresh({.ram_bytes_max = kMax});
  const auto one = cache.open(shelf_key("one more"), 2000), other = fresh.open(shelf_key("one more"), 2000);
  CHECK(fill_memory(*one, 0, 1000, 2000) == fill_memory(*other, 0, 1000, 2000));
}

}  // namespace spdld::budget_test
