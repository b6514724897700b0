#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/cache/memory/mapping.h"
#include "tests/cache/entries.h"

namespace spdld::memory_test {

using namespace spdld;
using namespace spdld::test;
using cache::Cache;
using cache::Found;

namespace {

// The kernel's flags of the memory at `address`: proc(5), VmFlags of /proc/PID/smaps.
std::string flags_of(const uint8_t* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &first, &end) == 2) is_there = first <= wanted && wanted < end;
    if (is_there && line.starts_with("VmFlags:")) return line;
  }
  return "";
}

}  // namespace

TEST_CASE("the cache finds in memory what was kept") {
  Cache cache({.ram_bytes_max = 8 * kMiB});
  CHECK(cache.is_on());
  const auto shelf = cache.open(shelf_key("a"), 1000);
  CHECK(shelf->find(3).where == Found::Where::kNowhere);
  auto room = shelf->reserve(3, 1001);
  REQUIRE(room);
  CHECK(reinterpret_cast<uintptr_t>(room.memory()) % 64 == 0);
  CHECK(shelf->find(3).where == Found::Where::kNowhere);  // not before it is kept
  CHECK_FALSE(shelf->reserve(3, 1001));                   // and nobody else makes it meanwhile
  const auto entry = entry_of(3, 1001);
  std::copy(entry.begin(), entry.end(), room.memory());
  room.keep(identity_of(3));
  const auto found = shelf->find(3);
  CHECK(found.where == Found::Where::kMemory);
  CHECK(found.memory == room.memory());
  CHECK(found.bytes == 1001);
  CHECK(found.identity == identity_of(3));
  CHECK(found.confirmed);
  CHECK(is_in_memory(*shelf, 3));
  CHECK_FALSE(shelf->reserve(3, 1001));
  const auto line = shelf->report();
  CHECK(line.memory_entries == 1);
  CHECK(line.memory_bytes == 1001);
  CHECK(line.memory_hits == 2);
  CHECK(line.misses == 2);
  CHECK(line.refused == 0);
  CHECK(line.in_use);
  CHECK(line.samples == 1000);
}

TEST_CASE("what the cache holds is left out of core dumps") {
  for (const uint64_t bytes : {cache::Mapping::kPageBytes, uint64_t{4} << 20}) {
    const cache::Mapping mapping(bytes);
    REQUIRE(mapping);
    const auto flags = flags_of(mapping.memory());
    INFO(flags);
    CHECK(flags.find(" dd") != std::string::npos);
  }
}

TEST_CASE("the cache keeps what came first, and its limit") {
  for (const uint64_t limit : {uint64_t{100'000}, kMiB, 5 * kMiB + 12'345, 64 * kMiB}) {
    Cache cache({.ram_bytes_max = limit});
    const auto shelf = cache.open(shelf_key("a"), 100'000);
    const uint64_t count = fill_memory(*shelf, 0, 3000, 100'000);
    INFO("limit " << limit << ", entries " << count);
    if (limit >= kMiB) CHECK(count * 3136 >= limit - 800'000 - limit / 50);  // the index's pages, the segments' ends
    CHECK(cache.report().ram_bytes <= limit);
    CHECK_FALSE(shelf->has_room(100'000));
    for (uint64_t i = 0; i < 500; ++i) put_in_memory(*shelf, 50'000 + i, 3000);
    for (uint64_t i = 0; i < count; ++i) REQUIRE(is_in_memory(*shelf, i));
    CHECK(shelf->report().refused >= 500);
    CHECK(shelf->report().memory_entries == count);
  }
}

TEST_CASE("a cache without memory finds and keeps nothing") {
  Cache cache({});
  CHECK_FALSE(cache.is_on());
  CHECK(cache.available_bytes() == 0);
  const auto shelf = cache.open(shelf_key("a"), 10);
  CHECK_FALSE(shelf->has_room(1));
  CHECK_FALSE(shelf->reserve(1, 1));
  CHECK_FALSE(put_on_disk(*shelf, 1, 10));
  CHECK(shelf->find(1).where == Found::Where::kNowhere);
  shelf->confirm(1);
  shelf->drop(1, true);
  CHECK(shelf->report().stale == 0);
  CHECK(cache.report().ram_bytes == 0);
}

TEST_CASE("samples that a shelf does not have, and entries of no bytes, are refused") {
  Cache cache({.ram_bytes_max = kMiB});
  const auto shelf = cache.open(shelf_key("a"), 10);
  CHECK_FALSE(shelf->reserve(10, 100));
  CHECK_FALSE(shelf->reserve(~0ull, 100));
  CHECK_FALSE(shelf->reserve(1, 0));
  CHECK_FALSE(shelf->reserve(1, ~0ull));
  CHECK_FALSE(shelf->reserve(1, ~0ull - 64));
  CHECK(shelf->find(10).where == Found::Where::kNowhere);
  shelf->confirm(10);
  shelf->drop(10, false);
  const auto empty = cache.open(shelf_key("b"), 0);
  CHECK_FALSE(empty->reserve(0, 100));
  CHECK(empty->find(0).where == Found::Where::kNowhere);
}

TEST_CASE("a room that is not kept is given back") {
  Cache cache({.ram_bytes_max = kMiB});
  const auto shelf = cache.open(shelf_key("a"), 10'000);
  const uint8_t* first = nullptr;
  uint64_t left = 0;
  {
    const auto room = shelf->reserve(1, 5000);
    REQUIRE(room);
    first = room.memory();
    left = shelf->report().memory_left;
  }
  CHECK(shelf->report().memory_left == left + 5120);
  CHECK(shelf->report().memory_wasted == 0);
  {
    auto one = shelf->reserve(2, 5000);
    CHECK(one.memory() == first);  // the same place again
    auto other = shelf->reserve(3, 5000);
    REQUIRE(other);
    other.keep(identity_of(3));
    one = {};  // no longer the last of its segment
  }
  CHECK(shelf->report().memory_wasted == 5120);
  CHECK(shelf->find(2).where == Found::Where::kNowhere);
  CHECK(put_in_memory(*shelf, 2, 5000));
  CHECK(is_in_memory(*shelf, 2));
  // So often that a leak would fill the limit.
  for (int i = 0; i < 1000; ++i) REQUIRE(shelf->reserve(4, 100'000));
  CHECK(shelf->report().memory_entries == 2);
}

TEST_CASE("an entry larger than a segment gets one of its own") {
  Cache cache({.ram_bytes_max = 100 * kMiB});
  const auto shelf = cache.open(shelf_key("a"), 100);
  CHECK(put_in_memory(*shelf, 1, 40 * kMiB));
  CHECK(put_in_memory(*shelf, 2, 100));
  CHECK(put_in_memory(*shelf, 3, 40 * kMiB));
  CHECK_FALSE(put_in_memory(*shelf, 4, 40 * kMiB));
  for (const uint64_t sample : {1, 2, 3}) CHECK(is_in_memory(*shelf, sample));
  CHECK(cache.report().ram_bytes <= 100 * kMiB);
  CHECK(put_in_memory(*shelf, 5, 4 * kMiB));
  const uint64_t before = cache.available_bytes();
  CHECK(shelf->reserve(6, 6 * kMiB));  // goes at once
  CHECK(cache.available_bytes() == before);
}

TEST_CASE("the shelf unused for longest makes room, and one in use never does") {
  Cache cache({.ram_bytes_max = 3 * kMiB});
  auto a = cache.open(shelf_key("a"), 1000), b = cache.open(shelf_key("b"), 1000), c = cache.open(shelf_key("c"), 1000);
  CHECK(fill_memory(*a, 0, 10'000, 90) == 90);
  CHECK(fill_memory(*b, 0, 10'000, 90) == 90);
  const uint64_t rest = fill_memory(*c, 0, 10'000, 1000);
  CHECK(rest >= 50);
  b.reset();
  a.reset();  // b has been unused for longer
  CHECK(cache.available_bytes() >= 2 * 90 * 10'000);
  CHECK(c->has_room(10'000));
  CHECK(cache.report().evicted == 0);
  CHECK(put_in_memory(*c, 500, 10'000));
  CHECK(cache.report().evicted == 1);
  CHECK(line_of(cache.report(), shelf_key("b")).memory_entries == 0);
  CHECK(line_of(cache.report(), shelf_key("a")).memory_entries == 90);
  CHECK_FALSE(line_of(cache.report(), shelf_key("a")).in_use);
  a = cache.open(shelf_key("a"), 1000);
  for (uint64_t i = 0; i < 90; ++i) CHECK(is_in_memory(*a, i));
  fill_memory(*c, 501, 10'000, 499);
  for (uint64_t i = 0; i < 90; ++i) CHECK(is_in_memory(*a, i));
  for (uint64_t i = 0; i < rest; ++i) CHECK(is_in_memory(*c, i));
  CHECK(cache.report().ram_bytes <= 3 * kMiB);
  b = cache.open(shelf_key("b"), 1000);
  CHECK(b->find(0).where == Found::Where::kNowhere);
}

TEST_CASE("a large entry takes the memory of several small segments that nobody uses") {
  Cache cache({.ram_bytes_max = 4 * kMiB});
  fill_memory(*cache.open(shelf_key("a"), 1000), 0, 10'000, 1000);
  const auto b = cache.open(shelf_key("b"), 1000);
  CHECK(put_in_memory(*b, 0, 3 * kMiB));
  CHECK(is_in_memory(*b, 0));
  CHECK(cache.report().ram_bytes <= 4 * kMiB);
}

TEST_CASE("what nobody uses is available to the last byte, however often it was used") {
  const uint64_t all = 4 * kMiB;
  Cache cache({.ram_bytes_max = all});
  for (int i = 0; i < 4; ++i) {
    auto a = cache.open(shelf_key("a"), 100'000);  // its index takes most of a segment
    fill_memory(*a, 0, 10'000, 50);
    CHECK_FALSE(a->reserve(99'999, all));
    CHECK(a->reserve(99'999, 200'000));  // a segment of its own, which goes at once
    CHECK(cache.available_bytes() < all);
    a.reset();
    CHECK(cache.available_bytes() == all);
    auto b = cache.open(shelf_key("b"), 1000);
    fill_memory(*b, 0, 10'000, i % 2 == 0 ? 1000 : 20);  // where there is too little room, of what `a` has
    b.reset();
    CHECK(cache.available_bytes() == all);
    CHECK(cache.report().ram_bytes <= all);
  }
}

TEST_CASE("a room keeps its memory when its shelf is let go") {
  Cache cache({.ram_bytes_max = kMiB});
  auto a = cache.open(shelf_key("a"), 100);
  auto room = a->reserve(1, 1000);
  a.reset();
  const auto b = cache.open(shelf_key("b"), 100);
  fill_memory(*b, 0, 20'000, 100);
  CHECK(b->report().memory_entries < 100);
  const auto entry = entry_of(1, 1000);
  std::copy(entry.begin(), entry.end(), room.memory());
  room.keep(identity_of(1));
  room = {};
  a = cache.open(shelf_key("a"), 100);
  CHECK(is_in_memory(*a, 1));
}

TEST_CASE("entries are confirmed anew after nobody held their shelf") {
  Cache cache({.ram_bytes_max = kMiB});
  auto one = cache.open(shelf_key("a"), 100);
  put_in_memory(*one, 1, 100);
  put_in_memory(*one, 2, 100);
  auto other = cache.open(shelf_key("a"), 100);
  one.reset();
  CHECK(other->find(1).confirmed);  // somebody held it all the time
  other.reset();
  one = cache.open(shelf_key("a"), 100);
  CHECK_FALSE(one->find(1).confirmed);
  one->confirm(1);
  CHECK(one->find(1).confirmed);
  CHECK_FALSE(one->find(2).confirmed);
  put_in_memory(*one, 3, 100);
  CHECK(one->find(3).confirmed);
}

TEST_CASE("a dropped entry is found no more, and makes place for a new one") {
  Cache cache({.ram_bytes_max = kMiB});
  const auto shelf = cache.open(shelf_key("a"), 100);
  put_in_memory(*shelf, 1, 1000);
  const auto found = shelf->find(1);
  shelf->drop(1, false);
  CHECK(shelf->find(1).where == Found::Where::kNowhere);
  CHECK(is_entry_of(1, found.memory, found.bytes));  // somebody may still be reading it
  CHECK(shelf->report().stale == 1);
  CHECK(shelf->report().memory_entries == 0);
  CHECK(shelf->report().memory_bytes == 0);
  CHECK(shelf->report().memory_wasted == 1088);
  shelf->drop(1, false);
  CHECK(shelf->report().stale == 1);
  CHECK(put_in_memory(*shelf, 1, 500));
  CHECK(is_in_memory(*shelf, 1));
}

TEST_CASE("pipelines share a shelf by its key alone") {
  Cache cache({.ram_bytes_max = kMiB});
  const auto planes = cache.open(shelf_key("a", cache::Form::kPrepared), 100);
  const auto bytes = cache.open(shelf_key("a", cache::Form::kEncoded), 100);
  put_in_memory(*planes, 1, 100);
  CHECK(bytes->find(1).where == Found::Where::kNowhere);
  CHECK(is_in_memory(*cache.open(shelf_key("a", cache::Form::kPrepared), 100), 1));
  CHECK(bytes->key() == shelf_key("a", cache::Form::kEncoded));
  auto upgraded = shelf_key("a");
  upgraded.representation = "planes 2";
  CHECK(cache.open(upgraded, 100)->find(1).where == Found::Where::kNowhere);  // of other code
  CHECK(cache::form_name(shelf_key("a", cache::Form::kEncoded)) == "encoded");
  CHECK(cache::form_name(upgraded) == "decoded");
  upgraded.representation = "indexed 1, strict";
  CHECK(cache::form_name(upgraded) == "indexed");
  upgraded.representation = "packed 1, luma alone";
  CHECK(cache::form_name(upgraded) == "packed");
}

TEST_CASE("an untouched shelf costs little, and its index is counted once it is used") {
  Cache cache({.ram_bytes_max = 64 * kMiB});
  const auto shelf = cache.open(shelf_key("a"), 1'300'000);
  CHECK(cache.report().ram_bytes == 0);
  put_in_memory(*shelf, 1'299'999, 100);
  CHECK(cache.report().ram_bytes > 4 * kMiB);  // a segment, a sixteenth of the limit
  CHECK(cache.report().ram_bytes < 5 * kMiB);
  const auto huge = cache.open(shelf_key("b"), 1'000'000'000);
  CHECK(put_in_memory(*huge, 999'999'999, 100));
  CHECK(is_in_memory(*huge, 999'999'999));
}

TEST_CASE("a shelf may outlive its cache") {
  std::shared_ptr<cache::Shelf> shelf;
  {
    Cache cache({.ram_bytes_max = kMiB});
    shelf = cache.open(shelf_key("a"), 100);
    put_in_memory(*shelf, 1, 100);
  }
  CHECK(is_in_memory(*shelf, 1));
}

TEST_CASE("the counts of very many shelves are not kept for ever") {
  Cache cache({.ram_bytes_max = kMiB});
  for (int i = 0; i < 1000; ++i) cache.open(shelf_key("a" + std::to_string(i)), 100);
  CHECK(cache.report().shelves.size() <= 257);
}

TEST_CASE("each entry in memory says its own form") {
  Cache cache({.ram_bytes_max = kMiB});
  const auto shelf = cache.open(shelf_key("a"), 10);
  for (const auto form : {cache::Form::kPrepared, cache::Form::kEncoded}) {
    const auto sample = static_cast<uint64_t>(form);
    shelf->reserve(sample, 100, form).keep({});
    REQUIRE(shelf->find(sample).where == Found::Where::kMemory);
    CHECK(shelf->find(sample).form == form);
  }
}

}  // namespace spdld::memory_test
