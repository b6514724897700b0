#include "daemon/source/parquet/column_store.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <thread>

#include "tests/source/parquet/written.h"
#include "tests/support/soon.h"

namespace spdld::source::parquet::column_store_test {
namespace {

using test::soon;
using test::parquet::write_file;

// Chunks from files in memory. A test may hold answers back, and give errors in their place.
struct Chunks {
  std::vector<std::string> files;
  std::atomic<uint64_t> reads{0}, bytes{0};
  std::atomic<bool> is_held{false};
  std::atomic<int> failures{0};  // so many of the next reads fail
};

class ReadsMemory final : public ChunkReader {
 public:
  explicit ReadsMemory(std::shared_ptr<Chunks> chunks) : chunks_(std::move(chunks)) {}
  Status read(const DataFile& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) override {
    while (chunks_->is_held && !stop.stop_requested()) std::this_thread::yield();
    if (stop.stop_requested()) return Error{Trouble::kStopping, {}};
    ++chunks_->reads;
    chunks_->bytes += to.size();
    if (chunks_->failures.fetch_sub(1) > 0) return Error{Trouble::kTransient, file.name + " can't be reached."};
    const std::string& bytes = chunks_->files.at(static_cast<size_t>(std::stoul(file.name.substr(1))));
    std::memcpy(to.data(), bytes.data() + offset, to.size());
    return Done{};
  }

 private:
  const std::shared_ptr<Chunks> chunks_;
};

// A read of one value.
class Value final : public store::Request::Observer, public store::Read::Room {
 public:
  Value(const std::string& field, uint64_t row) {
    read.object = field;
    read.offset = row;
    read.observer = this;
    read.room = this;
  }
  void on_done(store::Request&) override { is_done = true; }
  uint8_t* room_for(store::Read&, uint64_t bytes) override {
    if (!has_room) return nullptr;
    got.resize(bytes);
    return reinterpret_cast<uint8_t*>(got.data());
  }
  bool borrow(store::Read&, std::span<const uint8_t> bytes, std::shared_ptr<const void> kept) override {
    if (!borrows) return false;
    borrowed = bytes;
    keeper = std::move(kept);
    return true;
  }
  bool is_good(const std::string& wanted) {
    return soon([&] { return is_done.load(); }) && read.status && got == wanted;
  }

  store::Read read;
  std::string got;
  std::span<const uint8_t> borrowed;
  std::shared_ptr<const void> keeper;
  bool has_room = true, borrows = false;
  std::atomic<bool> is_done{false};
};

constexpr uint64_t kGroups = 6, kRows = 500;

struct Filled {
  explicit Filled(uint64_t bytes_max = 64 << 20, std::vector<size_t> wanted = {}, Nulls nulls = {}) {
    for (uint64_t i = 0; i < 2; ++i) chunks->files.push_back(write_file(kGroups / 2, kRows, i * kRows * 3).bytes);
    ColumnStore::Settings settings;
    settings.name = "test";
    settings.bytes_max = bytes_max;
    settings.threads = 3;
    settings.wanted = std::move(wanted);
    settings.nulls = std::move(nulls);
    store = std::make_unique<ColumnStore>(
        std::make_shared<const ParquetTable>(test::parquet::table_of(chunks->files)),
        std::vector<ColumnStore::Field>{
            {"text", 0, false}, {"number", 1, false}, {"list", 2, false}, {"text.is_null", 0, true}},
        std::make_unique<ReadsMemory>(chunks), std::move(settings));
  }
  bool reads(const std::string& field, uint64_t row, const std::string& wanted) const {
    Value value(field, row);
    store->read(value.read);
    return value.is_good(wanted);
  }

  std::shared_ptr<Chunks> chunks = std::make_shared<Chunks>();
  std::unique_ptr<ColumnStore> store;
};

uint64_t decoded_bytes(const ParquetTable& table, size_t column) {
  uint64_t bytes = 0;
  for (size_t group = 0; group < table.groups.size(); ++group) bytes += table.chunk(group, column).unpacked_bytes;
  return bytes;
}

}  // namespace

TEST_CASE("all rows of a group take one read of its column, in any order, on any thread") {
  Filled data;
  std::atomic<size_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < kGroups * kRows; i += 4) {
        const uint64_t row = i * 1009 % (kGroups * kRows);
        Value value("number", row);
        if (!data.store->read_at_hand(value.read)) {
          value.got.clear();
          data.store->read(value.read);
          if (!value.is_good(test::parquet::number_bytes(row))) ++wrong;
        } else if (value.got != test::parquet::number_bytes(row)) {
          ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(data.chunks->reads == kGroups);
  CHECK(data.store->counts().chunks == kGroups);
}

TEST_CASE("only what is in memory is at hand") {
  Filled data;
  Value value("list", 7);
  CHECK_FALSE(data.store->read_at_hand(value.read));
  CHECK(data.reads("list", 5, test::parquet::list_bytes(5)));
  CHECK(data.store->read_at_hand(value.read));
  CHECK(value.got == test::parquet::list_bytes(7));
  CHECK(value.read.identity == store::Identity{data.chunks->files[0].size(), 1});
  Value other("number", 7), without_room("list", 6), unknown("nothing", 7), beyond("list", kGroups * kRows);
  CHECK_FALSE(data.store->read_at_hand(other.read));
  without_room.has_room = false;
  CHECK_FALSE(data.store->read_at_hand(without_room.read));
  CHECK_FALSE(data.store->read_at_hand(unknown.read));
  CHECK_FALSE(data.store->read_at_hand(beyond.read));
}

TEST_CASE("a borrowed value stays when its column has left, and when its store is gone") {
  const ParquetTable table = test::parquet::table_of({write_file(kGroups / 2, kRows).bytes});
  Filled data(decoded_bytes(table, 1) * 4 / 3 + 20'000, {1});  // less than all columns need
  REQUIRE(data.reads("number", 0, test::parquet::number_bytes(0)));
  std::deque<Value> values;
  for (uint64_t row = 1; row < kRows; ++row) {
    Value& value = values.emplace_back("number", row);
    value.borrows = true;
    REQUIRE(data.store->read_at_hand(value.read));
  }
  Value again("number", 1);
  CHECK_FALSE(data.store->read_at_hand(again.read));  // all its rows were read: the column has left
  for (uint64_t group = 1; group < kGroups; ++group)  // others take the memory of columns that are kept by nobody
    CHECK(data.reads("number", group * kRows, test::parquet::number_bytes(group * kRows)));
  data.store.reset();
  size_t wrong = 0;
  for (uint64_t row = 1; row < kRows; ++row) {
    const Value& value = values[row - 1];
    const std::string borrowed(value.borrowed.begin(), value.borrowed.end());
    wrong += borrowed == test::parquet::number_bytes(row) && value.got.empty() ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("spare memory is used again where it fits, and is bounded") {
  SpareMemory spares;
  const auto spare_of = [](size_t bytes) {
    RawBytes memory;
    memory.reserve(bytes);
    return memory;
  };
  const size_t kMiB = 1 << 20;
  for (const size_t size : {3 * kMiB, 2 * kMiB, 4 * kMiB}) spares.give(spare_of(size));
  spares.give(spare_of(1000));  // not worth it
  CHECK(spares.take(1000).capacity() == 0);
  CHECK(spares.take(kMiB).capacity() == 0);  // all are far too large
  CHECK(spares.take(2 * kMiB - 5000).capacity() == 2 * kMiB);
  CHECK(spares.take(2 * kMiB - 5000).capacity() == 0);
  spares.shrink(5 * kMiB);  // the oldest goes
  CHECK(spares.take(3 * kMiB).capacity() == 0);
  const RawBytes last = spares.take(4 * kMiB);
  CHECK(last.capacity() == 4 * kMiB);
  CHECK(last.size() == 0);
  for (size_t i = 0; i < 40; ++i) spares.give(spare_of(kMiB));
  size_t count = 0;
  while (spares.take(kMiB).capacity() != 0) ++count;
  CHECK(count == 16);
}

TEST_CASE("a list without elements is a value without bytes, and a null is bad unless it has a value") {
  Filled data;
  CHECK(data.reads("list", 4, ""));
  Value null("text", 13);
  data.store->read(null.read);
  REQUIRE(soon([&] { return null.is_done.load(); }));
  REQUIRE_FALSE(null.read.status);
  CHECK(null.read.status.error().trouble == Trouble::kContent);
  CHECK(null.read.status.error().message ==
        "f0, row 13, column text: it is null, or has a null in its list; nulls = \"default\" gives a value.");
  CHECK(data.reads("text.is_null", 13, std::string("\1", 1)));
  CHECK(data.reads("text.is_null", 14, std::string("\0", 1)));
  const Filled lenient(64 << 20, {}, {.are_bad = false, .text = "-"});
  CHECK(lenient.reads("text", 13, "-"));
}

TEST_CASE("columns are made ready ahead of their reads, those alone that were wanted or read") {
  Filled data(64 << 20, {1});
  data.store->expect(kRows + 3, 0, 100);
  REQUIRE(soon([&] { return data.store->counts().chunks == 1; }));
  Value value("number", kRows + 3);
  CHECK(data.store->read_at_hand(value.read));
  CHECK(data.reads("list", 1, test::parquet::list_bytes(1)));
  data.store->expect(2 * kRows, 0, 100);
  REQUIRE(soon([&] { return data.store->counts().chunks == 4; }));
  CHECK(data.chunks->reads == 4);
}

TEST_CASE("memory stays within its bound, and any order gets its values") {
  const ParquetTable table = test::parquet::table_of({write_file(kGroups / 2, kRows).bytes});
  const uint64_t a_group = decoded_bytes(table, 0) / 3;
  Filled data(5 * a_group / 2, {0});
  size_t wrong = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    const uint64_t row = i * 7 % kGroups * kRows + i * 8;
    if (test::parquet::has_text(row)) wrong += data.reads("text", row, test::parquet::text_of(row)) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(data.store->counts().held_bytes_peak <= 5 * a_group / 2);
  CHECK(data.store->counts().held_bytes_peak >= a_group);
  CHECK(data.store->counts().pressed > 10);
}

TEST_CASE("in the order that was told, each column comes once though few have room") {
  const ParquetTable table = test::parquet::table_of({write_file(kGroups / 2, kRows).bytes});
  const uint64_t a_group = decoded_bytes(table, 1) / 3;
  Filled data(4 * a_group + 20'000, {1});
  size_t wrong = 0;
  for (uint64_t row = 0; row < kGroups * kRows; ++row) {
    data.store->expect(std::min(row + 100, kGroups * kRows - 1), row, 200);
    wrong += data.reads("number", row, test::parquet::number_bytes(row)) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(data.chunks->reads == kGroups);
}

TEST_CASE("a column that is larger than the bound says what to do") {
  Filled data(1000);
  Value value("text", 1);
  data.store->read(value.read);
  REQUIRE(soon([&] { return value.is_done.load(); }));
  REQUIRE_FALSE(value.read.status);
  CHECK(value.read.status.error().message ==
        "f0, row group 0, column text: it needs 0 MiB, more than the 0 MiB of source.stream_bytes_max.");
}

TEST_CASE("what may pass is tried again by the next read, and damage stays") {
  Filled data;
  data.chunks->failures = 1;
  Value first("number", 0);
  data.store->read(first.read);
  REQUIRE(soon([&] { return first.is_done.load(); }));
  REQUIRE_FALSE(first.read.status);
  CHECK(first.read.status.error().trouble == Trouble::kTransient);
  CHECK(data.reads("number", 0, test::parquet::number_bytes(0)));

  data.chunks->files[0].replace(4, 2000, std::string(2000, '\x7f'));  // the first column's pages
  for (int i = 0; i < 3; ++i) {
    Value bad("text", 1);
    data.store->read(bad.read);
    REQUIRE(soon([&] { return bad.is_done.load(); }));
    REQUIRE_FALSE(bad.read.status);
    CHECK(bad.read.status.error().trouble == Trouble::kContent);
    CHECK(bad.read.status.error().message.starts_with("f0, row group 0, column text: can't be decoded: "));
  }
  CHECK(data.chunks->reads == 3);
}

TEST_CASE("a read can be cancelled while it waits, and all reads end when the store does") {
  Filled data;
  data.chunks->is_held = true;
  std::deque<Value> values;
  for (uint64_t i = 0; i < 200; ++i) data.store->read(values.emplace_back("number", i * 13 % (kGroups * kRows)).read);
  data.store->cancel(values[17].read);
  REQUIRE(soon([&] { return values[17].is_done.load(); }));
  CHECK(values[17].read.status.error().trouble == Trouble::kStopping);
  data.store.reset();
  for (Value& value : values) {
    REQUIRE(value.is_done);
    CHECK_FALSE(value.read.status);
  }
}

}  // namespace spdld::source::parquet::column_store_test
