#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/cache/entries.h"
#include "tests/support/temp_dir.h"

namespace spdld::disk_test {

using namespace spdld;
using namespace spdld::test;
using cache::Cache;
using cache::Found;

namespace {

cache::Settings disk_settings(const TempDir& dir, uint64_t bytes_max = 64 * kMiB) {
  return {.folder = dir.path() / "deep" / "cache", .disk_bytes_max = bytes_max};
}

// Puts the entries 0, 1, ... up to the first that is refused, in a cache of their own, which ends before this returns.
uint64_t put_and_end(const cache::Settings& settings, const cache::ShelfKey& key, uint64_t count, uint64_t bytes,
                     uint64_t samples = 1000) {
  Cache cache(settings);
  REQUIRE(cache.report().disk_trouble.empty());
  const auto shelf = cache.open(key, samples);
  uint64_t put = 0;
  while (put < count && put_on_disk(*shelf, put, bytes)) ++put;
  return put;
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("what is on disk outlives the cache, with its identity") {
  const TempDir dir;
  const auto key = shelf_key("file:///data/with\nodd\\n names");
  CHECK(put_and_end(disk_settings(dir), key, 50, 3001) == 50);
  Cache cache(disk_settings(dir));
  CHECK(cache.is_on());
  const auto listed = line_of(cache.report(), key);  // before anybody opened it
  CHECK(listed.samples == 1000);
  CHECK(listed.disk_entries == 50);
  CHECK_FALSE(listed.in_use);
  const auto shelf = cache.open(key, 1000);
  for (uint64_t i = 0; i < 50; ++i) {
    const auto found = shelf->find(i);
    REQUIRE(found.where == Found::Where::kDisk);
    CHECK(found.bytes == 3001);
    CHECK_FALSE(found.confirmed);
    CHECK(is_on_disk(*shelf, i));
  }
  CHECK(shelf->find(50).where == Found::Where::kNowhere);
  shelf->confirm(7);
  CHECK(shelf->find(7).confirmed);
  CHECK_FALSE(put_on_disk(*shelf, 7, 3001));  // it is there
  const auto line = shelf->report();
  CHECK(line.disk_entries == 50);
  CHECK(line.disk_bytes == 50 * 3001);
  CHECK(line.misses == 1);
  CHECK(line.disk_hits >= 100);
  CHECK(line.refused == 0);
  CHECK(cache.report().damaged == 0);
  CHECK(cache.report().folder == disk_settings(dir).folder.string());
}

TEST_CASE("shelves that differ in one part of their keys lie apart") {
  const TempDir dir;
  const cache::ShelfKey one = shelf_key("a", cache::Form::kEncoded);
  std::vector<cache::ShelfKey> keys(5, one);
  keys[1].representation = "planes 1", keys[2].uri += "b", keys[3].fingerprint += "b", keys[4].field += "b";
  {
    Cache cache(disk_settings(dir));
    for (uint64_t i = 0; i < keys.size(); ++i) REQUIRE(put_on_disk(*cache.open(keys[i], 1000), i, 3000));
  }
  Cache cache(disk_settings(dir));
  for (uint64_t i = 0; i < keys.size(); ++i) {
    const auto shelf = cache.open(keys[i], 1000);
    for (uint64_t sample = 0; sample < keys.size(); ++sample)
      CHECK((shelf->find(sample).where == Found::Where::kDisk) == (sample == i));
    CHECK(is_on_disk(*shelf, i));
  }
}

TEST_CASE("identities are kept to the last bit") {
  const TempDir dir;
  const auto key = shelf_key("a");
  const std::vector<store::Identity> identities = {{0, 0}, {~0ull, -1}, {1, INT64_MIN}, {1ull << 63, INT64_MAX}};
  {
    Cache cache(disk_settings(dir));
    const auto shelf = cache.open(key, 10);
    for (uint64_t i = 0; i < identities.size(); ++i) {
      const auto entry = entry_of(i, 100);
      REQUIRE(shelf->put_on_disk(i, identities[i], entry.data(), entry.size()));
    }
  }
  Cache cache(disk_settings(dir));
  const auto shelf = cache.open(key, 10);
  for (uint64_t i = 0; i < identities.size(); ++i) CHECK(shelf->find(i).identity == identities[i]);
}

TEST_CASE("each entry on disk says its own form, also after a restart") {
  const TempDir dir;
  const auto key = shelf_key("a");
  const auto bytes = entry_of(1, 100);
  constexpr std::array kForms = {cache::Form::kPrepared, cache::Form::kEncoded, cache::Form::kPrepared};
  {
    Cache cache(disk_settings(dir));
    const auto shelf = cache.open(key, 10);
    for (uint64_t i = 0; i < kForms.size(); ++i)
      REQUIRE(shelf->put_on_disk(i, identity_of(i), bytes.data(), bytes.size(), kForms[i]));
  }
  Cache cache(disk_settings(dir));
  const auto shelf = cache.open(key, 10);
  for (uint64_t i = 0; i < kForms.size(); ++i) {
    const auto found = shelf->find(i);
    REQUIRE(found.where == Found::Where::kDisk);
    CHECK(found.form == kForms[i]);
    CHECK(found.offset == i * bytes.size());
    CHECK(found.identity == identity_of(i));
  }
}

TEST_CASE("a shelf of another format is made anew") {
  const TempDir dir;
  const auto key = shelf_key("a");
  CHECK(put_and_end(disk_settings(dir), key, 5, 1000) == 5);
  const auto folder = only_shelf_folder(dir.path() / "deep" / "cache");
  std::ofstream(folder / "shelf")
      << "spdld cache shelf, format 2\nuri: a\nfingerprint: f1\nfield: image\nform: decoded\n"
         "samples: 1000\n";
  Cache cache(disk_settings(dir));
  CHECK(cache.report().shelves.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "entries"));
  CHECK(put_on_disk(*cache.open(key, 1000), 0, 1000));
}

TEST_CASE("entries are found as soon as they are written, confirmed") {
  const TempDir dir;
  std::optional<Cache> cache(disk_settings(dir));
  const auto shelf = cache->open(shelf_key("a"), 100);
  for (uint64_t i = 0; i < 20; ++i) CHECK(put_on_disk(*shelf, i, 10'000));
  cache.reset();  // waits for them
  for (uint64_t i = 0; i < 20; ++i) {
    CHECK(is_on_disk(*shelf, i));
    CHECK(shelf->find(i).confirmed);
  }
  CHECK_FALSE(put_on_disk(*shelf, 30, 10'000));
}

TEST_CASE("the folder is the daemon's own, and tells its shelves in words") {
  const TempDir dir;
  put_and_end(disk_settings(dir), shelf_key("file:///data/train"), 1, 100);
  const auto folder = only_shelf_folder(disk_settings(dir).folder);
  CHECK(mode_of(disk_settings(dir).folder) == 0700);
  CHECK(mode_of(folder) == 0700);
  for (const char* name : {"shelf", "index", "entries"}) CHECK(mode_of(folder / name) == 0600);
  std::ifstream file(folder / "shelf");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.find("uri: file:///data/train\n") != text.npos);
  CHECK(text.find("representation: planes 1\n") != text.npos);
}

TEST_CASE("a dropped entry on disk makes place for a new one, which counts after a restart") {
  const TempDir dir;
  const auto key = shelf_key("a");
  put_and_end(disk_settings(dir), key, 3, 100);
  {
    Cache cache(disk_settings(dir));
    const auto shelf = cache.open(key, 1000);
    shelf->drop(1, false);
    CHECK(shelf->find(1).where == Found::Where::kNowhere);
    CHECK(shelf->report().stale == 1);
    CHECK(shelf->report().disk_entries == 2);
    CHECK(put_on_disk(*shelf, 1, 777));
  }
  Cache cache(disk_settings(dir));
  const auto shelf = cache.open(key, 1000);
  CHECK(shelf->find(1).bytes == 777);
  CHECK(is_on_disk(*shelf, 1));
  CHECK(shelf->report().disk_entries == 3);
  CHECK(shelf->report().disk_bytes == 977);
}

TEST_CASE("the disk's limit is never passed, and what came first stays") {
  const TempDir dir;
  const auto settings = disk_settings(dir, kMiB);
  const auto key = shelf_key("a");
  const uint64_t put = put_and_end(settings, key, 500, 10'000);
  CHECK(put >= 95);
  CHECK(put <= 104);
  CHECK(bytes_below(settings.folder) <= kMiB);
  Cache cache(settings);
  CHECK(cache.report().disk_bytes <= kMiB);
  CHECK(cache.report().disk_bytes >= put * 10'000);
  CHECK(cache.report().disk_trouble.empty());
  const auto shelf = cache.open(key, 1000);
  for (uint64_t i = 0; i < put; ++i) CHECK(is_on_disk(*shelf, i));
  CHECK_FALSE(put_on_disk(*shelf, 999, 2 * kMiB));
  CHECK_FALSE(shelf->has_disk_room(50'000));
  CHECK_FALSE(shelf->reserve(999, 50'000));
  CHECK_FALSE(put_on_disk(*shelf, 999, 50'000));
  CHECK(shelf->report().refused == 1);
}

TEST_CASE("an entry may be in memory and on disk, and one larger than the queue is for memory alone") {
  const TempDir dir;
  cache::Settings settings = disk_settings(dir, 1024 * kMiB);
  settings.ram_bytes_max = 128 * kMiB;
  {
    Cache cache(settings);
    const auto shelf = cache.open(shelf_key("a"), 10);
    CHECK(put_in_memory(*shelf, 1, 1000));
    CHECK(put_on_disk(*shelf, 1, 1000));
    CHECK(is_in_memory(*shelf, 1));
    CHECK_FALSE(shelf->has_disk_room(65 * kMiB));
    CHECK(shelf->has_disk_room(64 * kMiB));
    CHECK(put_in_memory(*shelf, 2, 65 * kMiB));
    CHECK_FALSE(put_on_disk(*shelf, 2, 65 * kMiB));
    CHECK(shelf->report().refused == 0);
  }
  Cache cache(settings);
  auto shelf = cache.open(shelf_key("a"), 10);
  CHECK(is_on_disk(*shelf, 1));
  CHECK(put_in_memory(*shelf, 1, 1000));
  CHECK(is_in_memory(*shelf, 1));
  shelf->drop(1, false);  // in both
  CHECK(shelf->find(1).where == Found::Where::kNowhere);
  CHECK(shelf->report().stale == 1);
}

TEST_CASE("on disk, too, the shelf unused for longest makes room, and one in use never does") {
  const TempDir dir;
  const auto settings = disk_settings(dir, kMiB);
  put_and_end(settings, shelf_key("oldest"), 30, 10'000);
  put_and_end(settings, shelf_key("older"), 30, 10'000);
  put_and_end(settings, shelf_key("used"), 20, 10'000);
  {
    std::optional<Cache> cache(settings);
    const auto used = cache->open(shelf_key("oldest"), 1000);  // now used last
    const auto shelf = cache->open(shelf_key("new"), 1000);
    uint64_t put = 0;
    for (uint64_t i = 0; i < 30; ++i) put += put_on_disk(*shelf, i, 10'000) ? 1 : 0;
    CHECK(put == 30);
    while (!is_on_disk(*shelf, 29)) std::this_thread::yield();  // the writer has made room then
    CHECK(cache->report().evicted == 1);
    cache.reset();
    for (uint64_t i = 0; i < 30; ++i) CHECK(is_on_disk(*used, i));
    for (uint64_t i = 0; i < 30; ++i) CHECK(is_on_disk(*shelf, i));
  }
  CHECK(bytes_below(settings.folder) <= kMiB);
  Cache cache(settings);
  CHECK(cache.open(shelf_key("older"), 1000)->find(0).where == Found::Where::kNowhere);
  const auto kept = cache.open(shelf_key("used"), 1000);
  for (uint64_t i = 0; i < 20; ++i) CHECK(is_on_disk(*kept, i));
}

TEST_CASE("a lower limit removes the shelves unused for longest at the start") {
  const TempDir dir;
  put_and_end(disk_settings(dir), shelf_key("a"), 50, 10'000);
  put_and_end(disk_settings(dir), shelf_key("b"), 50, 10'000);
  Cache cache(disk_settings(dir, 700'000));
  CHECK(cache.report().disk_bytes <= 700'000);
  CHECK(bytes_below(dir.path()) <= 700'000);
  CHECK(is_on_disk(*cache.open(shelf_key("b"), 1000), 49));
  CHECK(cache.open(shelf_key("a"), 1000)->find(0).where == Found::Where::kNowhere);
}

TEST_CASE("a shelf whose number of samples changed begins anew") {
  const TempDir dir;
  const auto key = shelf_key("a");
  put_and_end(disk_settings(dir), key, 10, 1000, 100);
  CHECK(put_and_end(disk_settings(dir), key, 5, 1000, 200) == 5);
  Cache cache(disk_settings(dir));
  const auto shelf = cache.open(key, 200);
  CHECK(is_on_disk(*shelf, 4));
  CHECK(shelf->find(5).where == Found::Where::kNowhere);
}

TEST_CASE("indexes of shelves that nobody uses are not kept for ever, and read again") {
  const TempDir dir;
  for (int i = 0; i < 6; ++i) put_and_end(disk_settings(dir), shelf_key("s" + std::to_string(i)), 5, 100);
  Cache cache(disk_settings(dir));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 6; ++i) {
      const auto shelf = cache.open(shelf_key("s" + std::to_string(i)), 1000);
      CHECK(is_on_disk(*shelf, 4));
    }
  }
  uint64_t entries = 0;
  for (const auto& line : cache.report().shelves) entries += line.disk_entries;
  CHECK(entries == 30);
}

}  // namespace spdld::disk_test
