#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "daemon/cache/disk/disk_index.h"
#include "daemon/cache/disk/shelf_header.h"
#include "daemon/cache/entries/paged_array.h"
#include "proto/unique_fd.h"
#include "tests/cache/entries.h"

namespace spdld::index_test {

using namespace spdld;
using namespace spdld::test;

namespace {

const std::string kDigits(32, '7');

UniqueFd file_of(const std::vector<cache::IndexRecord>& records) {
  UniqueFd file(::memfd_create("index", MFD_CLOEXEC));
  const auto header = cache::index_header(kDigits);
  REQUIRE(::write(file.get(), header.data(), header.size()) == static_cast<ssize_t>(header.size()));
  for (const auto& record : records) {
    const auto bytes = cache::index_record(record);
    REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  return file;
}

}  // namespace

TEST_CASE("a record of the index is read as it was written") {
  const cache::IndexRecord written{12,     {~0ull - 3, -77},      1ull << 40,
                                   12'345, 0xfeed'face'dead'beef, cache::Form::kPrepared};
  const auto file = file_of({written, written});
  uint64_t seen = 0;
  const auto read = cache::read_index(file.get(), kDigits, [&](const cache::IndexRecord& record) {
    CHECK(record.sample == written.sample);
    CHECK(record.identity == written.identity);
    CHECK(record.offset == written.offset);
    CHECK(record.bytes == written.bytes);
    CHECK(record.checksum == written.checksum);
    CHECK(record.form == written.form);
    return ++seen == 1;  // the second is not accepted
  });
  REQUIRE(read);
  CHECK(seen == 2);
  CHECK(read->damaged == 1);
  CHECK(read->sound_bytes == cache::kIndexHeaderBytes + cache::kIndexRecordBytes);
  const auto other = cache::read_index(file.get(), std::string(32, '8'), [](const auto&) { return true; });
  REQUIRE(other);
  CHECK(other->sound_bytes == 0);
}

TEST_CASE("the index is read whole when it is longer than is read at once") {
  std::vector<cache::IndexRecord> records;
  for (uint64_t i = 0; i < 40'000; ++i) records.push_back({i, identity_of(i), i * 10, 10, i});
  const auto file = file_of(records);
  uint64_t next = 0;
  const auto read =
      cache::read_index(file.get(), kDigits, [&](const cache::IndexRecord& r) { return r.sample == next++; });
  REQUIRE(read);
  CHECK(next == 40'000);
  CHECK(read->damaged == 0);
  CHECK_FALSE(cache::read_index(-1, kDigits, [](const auto&) { return true; }));
}

TEST_CASE("records that can't be true are not taken") {
  cache::DiskIndex index(10);
  CHECK(index.load({3, {}, 50, 50, 0}, 100));
  CHECK_FALSE(index.load({10, {}, 0, 50, 0}, 100));          // no such sample
  CHECK_FALSE(index.load({4, {}, 51, 50, 0}, 100));          // beyond the file
  CHECK_FALSE(index.load({4, {}, ~0ull - 10, 50, 0}, 100));  // and so far that the sum is small
  CHECK_FALSE(index.load({4, {}, 0, ~0ull, 0}, 100));
  CHECK_FALSE(index.load({4, {}, 0, 0, 0}, 100));
  CHECK_FALSE(index.load({4, {}, 0, 1ull << 33, 0}, 1ull << 40));
  CHECK_FALSE(index.find(4, 0));
  CHECK(index.load({3, {}, 10, 20, 0}, 100));  // the last one counts
  CHECK(index.entries() == 1);
  CHECK(index.entry_bytes() == 20);
  CHECK(index.find(3, 1)->record.offset == 10);
}

TEST_CASE("entries that are dropped and put again take places, but not without end") {
  cache::DiskIndex index(1);
  uint64_t turns = 0;
  while (turns < 10'000 && index.begin(0)) {
    CHECK_FALSE(index.begin(0));
    REQUIRE(index.publish({0, {}, 0, 10, 0}, 1));
    REQUIRE(index.drop(0));
    ++turns;
  }
  CHECK(turns == 1026);
  CHECK(index.entries() == 0);
}

TEST_CASE("a shelf's header says its key, whatever is in it") {
  const cache::ShelfHeader header{{"file:///a\nb\\n\\", "f\x01", std::string("na\0me", 5), "planes 1\n, x"},
                                  12'345'678'901};
  const auto read = cache::read_header(cache::header_text(header));
  REQUIRE(read);
  CHECK(read->key == header.key);
  CHECK(read->samples == header.samples);
  const std::string text = cache::header_text(header);
  for (size_t i = 0; i < text.size(); ++i) CHECK_FALSE(cache::read_header(text.substr(0, i)));
  CHECK_FALSE(cache::read_header("spdld cache shelf, format 2" + text.substr(27)));
  CHECK_FALSE(cache::read_header(""));
  CHECK(cache::key_digits(header.key).size() == 32);
  CHECK(cache::key_digits(header.key) != cache::key_digits(shelf_key("file:///a")));
}

TEST_CASE("an array in pages makes those alone that are written to") {
  cache::PagedArray<uint64_t> array(150'000);
  CHECK(array.find(149'999) == nullptr);
  CHECK(array.missing_bytes(149'999) == (150'000 - 131'072) * 8);
  *array.make(149'999) = 7;
  CHECK(array.missing_bytes(149'999) == 0);
  CHECK(*array.find(149'999) == 7);
  CHECK(*array.find(131'072) == 0);
  CHECK(array.find(0) == nullptr);
  CHECK(array.find(150'000) == nullptr);
  array.make(0);
  CHECK(array.clear() == (65'536 + 150'000 - 131'072) * 8);
  CHECK(array.find(149'999) == nullptr);
}

}  // namespace spdld::index_test
