#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "daemon/cache/disk/shelf_header.h"
#include "tests/cache/entries.h"
#include "tests/support/temp_dir.h"

namespace spdld::disk_fault_test {

using namespace spdld;
using namespace spdld::test;
using cache::Cache;
using cache::Found;
namespace fs = std::filesystem;

namespace {

// A folder with a shelf of ten entries of 1,000 bytes.
struct Kept {
  Kept() {
    Cache cache(settings);
    const auto shelf = cache.open(key, 100);
    for (uint64_t i = 0; i < 10; ++i) REQUIRE(put_on_disk(*shelf, i, 1000));
  }
  fs::path file(const char* name) const { return only_shelf_folder(settings.folder) / name; }
  void flip(const char* name, uint64_t at) const {
    std::fstream stream(file(name), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
    REQUIRE(stream.good());
  }
  void cut(const char* name, uint64_t bytes) const { fs::resize_file(file(name), bytes); }

  TempDir dir;
  cache::Settings settings{.folder = dir.path() / "cache", .disk_bytes_max = 8 * kMiB};
  cache::ShelfKey key = shelf_key("a");
};

uint64_t count_sound(const cache::Shelf& shelf) {
  uint64_t sound = 0;
  for (uint64_t i = 0; i < 100; ++i) sound += is_on_disk(shelf, i) ? 1 : 0;
  return sound;
}

constexpr uint64_t kHeader = 48, kRecord = 56;

}  // namespace

TEST_CASE("a torn tail of the index is cut off, and the shelf goes on") {
  const Kept kept;
  for (const uint64_t torn : {1, 30, 55}) {
    kept.cut("index", kHeader + 9 * kRecord + torn);
    {
      Cache cache(kept.settings);
      const auto shelf = cache.open(kept.key, 100);
      CHECK(count_sound(*shelf) == 9);
      CHECK(cache.report().damaged == 0);
      CHECK(fs::file_size(kept.file("index")) == kHeader + 9 * kRecord);
      CHECK(fs::file_size(kept.file("entries")) == 9000);  // and what the lost record told of
      CHECK(put_on_disk(*shelf, 9, 1000));
    }
    Cache cache(kept.settings);
    CHECK(count_sound(*cache.open(kept.key, 100)) == 10);
  }
}

TEST_CASE("records of the index that are damaged, or tell of what is not there, are dropped and counted") {
  const Kept kept;
  SECTION("a flipped bit anywhere in a record") {
    for (uint64_t byte = 0; byte < kRecord; byte += 5) {
      kept.flip("index", kHeader + 4 * kRecord + byte);
      {
        Cache cache(kept.settings);
        const auto shelf = cache.open(kept.key, 100);
        CHECK(count_sound(*shelf) == 9);
        CHECK(shelf->find(4).where == Found::Where::kNowhere);
        CHECK(cache.report().damaged == 1);
      }
      kept.flip("index", kHeader + 4 * kRecord + byte);
    }
  }
  SECTION("the last records are torn") {
    kept.flip("index", kHeader + 9 * kRecord + 1);
    kept.flip("index", kHeader + 8 * kRecord + 1);
    Cache cache(kept.settings);
    CHECK(count_sound(*cache.open(kept.key, 100)) == 8);
    CHECK(cache.report().damaged == 2);
    CHECK(fs::file_size(kept.file("index")) == kHeader + 8 * kRecord);
  }
  SECTION("the file of entries is shorter than they are") {
    kept.cut("entries", 7500);
    Cache cache(kept.settings);
    CHECK(count_sound(*cache.open(kept.key, 100)) == 7);
    CHECK(cache.report().damaged == 3);
  }
  SECTION("the file of entries is gone") {
    fs::remove(kept.file("entries"));
    Cache cache(kept.settings);
    const auto shelf = cache.open(kept.key, 100);
    CHECK(count_sound(*shelf) == 0);
    CHECK(cache.report().damaged == 10);
    CHECK(put_on_disk(*shelf, 3, 1000));
  }
}

TEST_CASE("a pipe in the place of any file of the cache's folder is not waited for") {
  for (const char* name : {"shelf", "index", "entries"}) {
    CAPTURE(name);
    const Kept kept;
    const fs::path pipe = kept.file(name);
    fs::remove(pipe);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    {
      Cache cache(kept.settings);
      CHECK(cache.report().disk_trouble == "");
      const auto shelf = cache.open(kept.key, 100);
      CHECK(count_sound(*shelf) == 0);
      CHECK(put_on_disk(*shelf, 1, 1000));  // the shelf is begun anew
    }
    CHECK(fs::is_regular_file(pipe));
  }
  const Kept kept;
  fs::remove(kept.settings.folder / "lock");
  REQUIRE(::mkfifo((kept.settings.folder / "lock").c_str(), 0600) == 0);
  const Cache cache(kept.settings);
  CHECK_THAT(cache.report().disk_trouble, Catch::Contains("lock is not a regular file"));
}

TEST_CASE("an index whose beginning is damaged, or of another shelf, is begun anew") {
  const Kept kept;
  const uint64_t at = GENERATE(0, 20, 45);
  kept.flip("index", at);
  {
    std::optional<Cache> cache(kept.settings);
    const auto shelf = cache->open(kept.key, 100);
    CHECK(count_sound(*shelf) == 0);
    CHECK(cache->report().damaged == 10);
    CHECK(put_on_disk(*shelf, 5, 1000));
  }
  Cache cache(kept.settings);
  CHECK(count_sound(*cache.open(kept.key, 100)) == 1);
  CHECK(cache.report().damaged == 0);
}

TEST_CASE("flipped bits of an entry are noticed") {
  const Kept kept;
  kept.flip("entries", 3 * 1000 + 517);
  Cache cache(kept.settings);
  const auto shelf = cache.open(kept.key, 100);
  const auto bytes = read_found(shelf->find(3));
  CHECK_FALSE(shelf->is_sound(3, bytes));
  CHECK(shelf->is_sound(2, read_found(shelf->find(2))));
  CHECK_FALSE(shelf->is_sound(2, bytes));  // sound bytes of another sample are not sound
  CHECK_FALSE(shelf->is_sound(2, {}));
  CHECK_FALSE(shelf->is_sound(55, bytes));
  shelf->drop(3, true);
  CHECK(cache.report().damaged == 1);
  CHECK(shelf->report().stale == 0);
  CHECK(shelf->find(3).where == Found::Where::kNowhere);
  CHECK(put_on_disk(*shelf, 3, 1000));
}

TEST_CASE("a shelf's folder without a sound header is removed, and other folders are left alone") {
  const Kept kept;
  kept.flip("shelf", 2);
  fs::create_directories(kept.settings.folder / "photos");
  std::ofstream(kept.settings.folder / "photos" / "entries") << "mine";
  const fs::path gone = kept.settings.folder / (std::string(32, 'a') + ".gone");
  fs::create_directories(gone);
  std::ofstream(gone / "entries") << "left by a daemon that was killed";
  Cache cache(kept.settings);
  CHECK_FALSE(fs::exists(gone));
  CHECK(fs::file_size(kept.settings.folder / "photos" / "entries") == 4);
  CHECK(only_shelf_folder(kept.settings.folder).filename() == "photos");
  CHECK(cache.report().shelves.empty());
  CHECK(cache.report().disk_bytes == 0);
}

TEST_CASE("a second daemon goes on without the disk") {
  const Kept kept;
  std::optional<Cache> first(kept.settings);
  {
    Cache second({.ram_bytes_max = kMiB, .folder = kept.settings.folder, .disk_bytes_max = kMiB});
    CHECK(second.report().disk_trouble.find("another daemon uses") != std::string::npos);
    const auto shelf = second.open(kept.key, 100);
    CHECK(shelf->find(1).where == Found::Where::kNowhere);
    CHECK_FALSE(put_on_disk(*shelf, 1, 1000));
    CHECK(put_in_memory(*shelf, 1, 1000));
    CHECK(second.is_on());
  }
  CHECK(count_sound(*first->open(kept.key, 100)) == 10);
  first.reset();
  Cache third(kept.settings);
  CHECK(third.report().disk_trouble.empty());
}

TEST_CASE("a folder that can't be used is told of, and the cache goes on in memory") {
  const TempDir dir;
  std::ofstream(dir.path() / "file") << "x";
  const auto trouble_of = [](const fs::path& folder) {
    Cache cache({.ram_bytes_max = kMiB, .folder = folder, .disk_bytes_max = kMiB});
    CHECK(put_in_memory(*cache.open(shelf_key("a"), 10), 1, 100));
    return cache.report().disk_trouble;
  };
  CHECK_FALSE(trouble_of(dir.path() / "file").empty());
  CHECK_FALSE(trouble_of(dir.path() / "file" / "below").empty());
  fs::create_directories(dir.path() / "open");
  fs::permissions(dir.path() / "open", fs::perms::all);
  CHECK(trouble_of(dir.path() / "open").find("chmod 0700") != std::string::npos);
  CHECK(trouble_of(dir.path() / "fine").empty());
  if (::geteuid() != 0) {  // root may write everywhere
    fs::create_directories(dir.path() / "closed");
    fs::permissions(dir.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(trouble_of(dir.path() / "closed").find("Permission denied") != std::string::npos);
    CHECK(trouble_of(dir.path() / "closed" / "below").find("Permission denied") != std::string::npos);
  }
}

// The same as a full disk to who writes: a file may grow no further.
TEST_CASE("a disk that takes no more is told of, and read only from then on") {
  const Kept kept;
  rlimit before;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  std::optional<Cache> cache(kept.settings);
  const auto shelf = cache->open(kept.key, 100);
  const rlimit small{25'000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  uint64_t put = 0;
  for (uint64_t i = 10; i < 60; ++i) put += put_on_disk(*shelf, i, 1000) ? 1 : 0;
  cache.reset();  // all is written, or refused
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK(put > 15);
  CHECK(count_sound(*shelf) == 25);
  CHECK_FALSE(put_on_disk(*shelf, 80, 1000));
  CHECK(fs::file_size(kept.file("entries")) == 25'000);
}

TEST_CASE("a trouble with writing is said") {
  const Kept kept;
  Cache cache(kept.settings);
  {
    const auto shelf = cache.open(shelf_key("new"), 100);
    // Its folder can't be made: a file is there.
    const auto name = cache::key_digits(shelf_key("new"));
    std::ofstream(kept.settings.folder / name) << "x";
    CHECK(put_on_disk(*shelf, 1, 1000));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (cache.report().disk_trouble.empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    CHECK(cache.report().disk_trouble.find("read only") != std::string::npos);
    CHECK_FALSE(put_on_disk(*shelf, 2, 1000));
    CHECK(shelf->find(1).where == Found::Where::kNowhere);
  }
  CHECK(count_sound(*cache.open(kept.key, 100)) == 10);
}

}  // namespace spdld::disk_fault_test
