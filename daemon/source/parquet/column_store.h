// The values of Parquet columns as objects of a store: the object of a field's name, whose byte n is the value of the
// data set's row n (Locator::is_value). Any row needs the whole column of its row group, which is fetched and decoded
// once for all its rows, and served from memory then.
//
// The reader of an order says with expect() which rows will be read soon. Columns of their groups are made ready ahead
// of the reads, if they were read before or the pipeline named them. As in a BlockStore, they have a bound
// of their own, beside the bytes in flight. A column leaves once all its rows were read, unless the whole data set has
// room; or once the order is past it; and under pressure the column leaves first that was used least lately.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/source/parquet/chunk_reader.h"
#include "daemon/source/parquet/column_values.h"
#include "daemon/source/parquet/spare_memory.h"
#include "daemon/source/parquet/table.h"
#include "daemon/store/store.h"
#include "daemon/store/streams/order_place.h"
#include "daemon/store/streams/readings.h"

namespace spdld::source::parquet {

class ColumnStore final : public store::Store {
 public:
  // A field: a column's values, or for each row a byte that is 1 where the column has no value there.
  struct Field {
    std::string name;
    uint32_t column = 0;
    bool is_mask = false;
  };
  struct Settings {
    std::string name;        // of the data set, for people
    uint64_t bytes_max = 0;  // of decoded columns
    unsigned threads = 1;    // that fetch and decode
    Nulls nulls = {};
    std::vector<size_t> wanted = {};  // columns that are made ready before anybody has read them
  };
  struct Counts {
    uint64_t chunks = 0, bytes = 0;  // that were fetched and decoded
    uint64_t held_bytes = 0, held_bytes_peak = 0;
    uint64_t pressed = 0;  // columns that had to leave though the order was not past them
  };

  ColumnStore(std::shared_ptr<const ParquetTable> table, std::vector<Field> fields, std::unique_ptr<ChunkReader> reader,
              Settings settings);
  // Reads under way end with kStopping.
  ~ColumnStore() override;
  ColumnStore(const ColumnStore&) = delete;
  ColumnStore& operator=(const ColumnStore&) = delete;

  // `read.offset` is a row. Any thread; the observer is told on a thread of the store.
  void read(store::Read& read) override;
  bool read_at_hand(store::Read& read) override;
  void stat(store::Stat& stat) override;
  void list(store::List& list) override;
  void cancel(store::Request& request) override;
  std::string uri_of(std::string_view object) const override;
  unsigned concurrency() const override { return kReadsAtOnce; }

  // As BlockStore::expect(), of a row. Any thread; nothing blocks.
  void expect(uint64_t row, uint64_t place, uint64_t horizon);

  Counts counts() const;

 private:
  // Reads that wait for a column cost nothing.
  static constexpr unsigned kReadsAtOnce = 64;

  // A read's field and place.
  struct Wish {
    const Field* field = nullptr;  // null: there is no such field
    size_t unit = 0;
    uint64_t row = 0;
    uint32_t file = 0;
  };
  struct ValueReading : store::streams::Reading {
    Wish wish;
    std::shared_ptr<const ColumnValues> values = {};  // of its unit, which it waited for
  };
  // A column of a row group: its number is the group's number times the columns, and the column's number.
  enum class State : uint8_t { kWanted, kFilling, kThere };
  struct Unit {
    State state = State::kWanted;
    std::shared_ptr<const ColumnValues> values;  // kThere; null: `fault` says why
    Status fault = Done{};
    uint64_t held_bytes = 0;
    uint64_t given_rows = 0;
    uint64_t place = 0;  // of the order, when it was last of use
    std::vector<ValueReading*> waiting;
    std::list<size_t>::iterator used;  // kThere
  };
  using Units = std::unordered_map<size_t, Unit>;
  using Lock = std::unique_lock<std::mutex>;

  Wish find(const store::Read& read) const;
  uint64_t plain_bytes(size_t unit) const;
  uint64_t needs(size_t unit) const;
  bool is_bad(const ColumnValues& values, const Wish& wish) const;
  Result<std::span<const uint8_t>> value_of(const ColumnValues& values, const Wish& wish,
                                            const store::Read& read) const;
  Status copy(std::span<const uint8_t> value, const Wish& wish, store::Read& read) const;
  bool step(ValueReading& reading, Lock& lock);
  bool give_to(ValueReading& reading, std::shared_ptr<const ColumnValues> values, Lock& lock);
  void want(size_t unit, bool is_demanded);
  void touch(Unit& unit);
  void note_given(Units::iterator at);
  void drop(Units::iterator at);
  void drop_past();
  bool make_room(uint64_t bytes, bool is_demanded);
  bool next_fill(size_t& unit);
  void fill_on();
  void fill(size_t number, Lock& lock);
  Result<ColumnValues> bring(size_t number, RawBytes memory) const;

  const std::shared_ptr<const ParquetTable> table_;
  const std::vector<Field> fields_;
  const std::unique_ptr<ChunkReader> reader_;
  const Settings settings_;
  const std::shared_ptr<SpareMemory> spares_ = std::make_shared<SpareMemory>();
  bool holds_all_ = false;  // the columns that are wanted have room for the whole data set
  std::unordered_map<std::string_view, const Field*> by_name_;
  std::vector<std::atomic<uint64_t>> expected_at_;  // by group: one more than the place of the last expect()

  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable fillers_;
  bool stopping_ = false;     // under the mutex, as the following
  std::set<size_t> columns_;  // that are read, or were wanted
  store::streams::Readings<ValueReading> readings_{mutex_};
  Units units_;
  std::deque<size_t> demanded_, expected_;  // units to fill; some may be filled already
  std::list<size_t> used_;                  // units that are there: the one used least lately first
  unsigned filling_ = 0;
  store::streams::OrderPlace place_;
  Counts counts_;
  std::vector<std::thread> filling_threads_;
};

}  // namespace spdld::source::parquet
