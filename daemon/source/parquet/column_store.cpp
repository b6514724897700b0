#include "daemon/source/parquet/column_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/base/system/memory_reserve.h"
#include "daemon/source/parquet/arrow_files.h"

namespace spdld::source::parquet {
namespace {

// Of a horizon: so much may an order go on before the same group is expected anew.
constexpr uint64_t kExpectedAgain = 16;

// Values that leave their memory to others.
struct KeptValues {
  KeptValues(ColumnValues kept, std::shared_ptr<SpareMemory> spare)
      : values(std::move(kept)), spares(std::move(spare)) {}
  ~KeptValues() { spares->give(values.take_memory()); }
  KeptValues(const KeptValues&) = delete;
  KeptValues& operator=(const KeptValues&) = delete;

  ColumnValues values;
  const std::shared_ptr<SpareMemory> spares;
};

// Behind the value's place.
std::string beyond_sentence(const Column& column) {
  if (column.conversion == Conversion::kInt96)
    return ": its time lies beyond the 64-bit nanoseconds since 1970 that the field gives (the years 1677 to 2262).";
  return ": its number is no " + std::string(config::dtype_name(column.dtype)) + ", as the file's schema claims.";
}

}  // namespace

ColumnStore::ColumnStore(std::shared_ptr<const ParquetTable> table, std::vector<Field> fields,
                         std::unique_ptr<ChunkReader> reader, Settings settings)
    : table_(std::move(table)),
      fields_(std::move(fields)),
      reader_(std::move(reader)),
      settings_(std::move(settings)),
      expected_at_(table_->groups.size()),
      columns_(settings_.wanted.begin(), settings_.wanted.end()) {
  for (const Field& field : fields_) by_name_.emplace(field.name, &field);
  uint64_t all = 0;
  for (size_t group = 0; group < table_->groups.size(); ++group)
    for (const size_t column : settings_.wanted) all += needs(group * table_->columns.size() + column);
  holds_all_ = all <= settings_.bytes_max;
  readings_.start([this](ValueReading& reading, Lock& lock) { return step(reading, lock); });
  for (unsigned i = 0; i < settings_.threads; ++i)
    filling_threads_.emplace_back([this, i] {
      name_thread("columns", i);
      fill_on();
    });
}

ColumnStore::~ColumnStore() {
  stop_.request_stop();
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    fillers_.notify_all();
  }
  for (std::thread& thread : filling_threads_) thread.join();
  {
    const std::scoped_lock lock(mutex_);
    readings_.end_all();
  }
  readings_.join();
}

std::string ColumnStore::uri_of(std::string_view object) const {
  return "the column " + std::string(object) + " of " + settings_.name;
}

// ---- requests

ColumnStore::Wish ColumnStore::find(const store::Read& read) const {
  Wish wish;
  const auto found = by_name_.find(read.object);
  if (found == by_name_.end() || read.room == nullptr || read.offset >= table_->rows) return wish;
  const size_t number = table_->group_of(read.offset);
  const Group& group = table_->groups[number];
  wish.field = found->second;
  wish.unit = number * table_->columns.size() + wish.field->column;
  wish.row = read.offset - group.first_row;
  wish.file = group.file;
  return wish;
}

bool ColumnStore::is_bad(const ColumnValues& values, const Wish& wish) const {
  return !wish.field->is_mask && (values.is_beyond(wish.row) || (settings_.nulls.are_bad && values.is_null(wish.row)));
}

// The value lies in `values`, or for ever.
Result<std::span<const uint8_t>> ColumnStore::value_of(const ColumnValues& values, const Wish& wish,
                                                       const store::Read& read) const {
  static constexpr std::array<uint8_t, 2> kMask = {0, 1};
  if (wish.field->is_mask) return std::span(&kMask[values.is_null(wish.row) ? 1 : 0], 1);
  if (is_bad(values, wish)) {
    const std::string why = values.is_beyond(wish.row)
                                ? beyond_sentence(table_->columns[wish.field->column])
                                : ": it is null, or has a null in its list; nulls = \"default\" gives a value.";
    return Error{Trouble::kContent, table_->place_of(read.offset, wish.field->column) + why};
  }
  const std::span<const uint8_t> value = values[wish.row];
  if (value.size() <= read.bytes_max) return value;
  return Error{Trouble::kContent, table_->place_of(read.offset, wish.field->column) + ": it has " +
                                      std::to_string(value.size()) + " bytes, more than the limit of " +
                                      std::to_string(read.bytes_max) + "."};
}

// Writes the value to the read's room.
Status ColumnStore::copy(std::span<const uint8_t> value, const Wish& wish, store::Read& read) const {
  read.identity = table_->files[wish.file].identity;
  if (value.empty()) return Done{};
  uint8_t* const to = read.room->room_for(read, value.size());
  if (to == nullptr) return Error{Trouble::kMemory, {}};
  std::memcpy(to, value.data(), value.size());
  read.pieces.assign(1, {0, value.size(), to});
  return Done{};
}

// A value that is borrowed is decoded at once, so that few columns stay longer than the store counts them.
bool ColumnStore::read_at_hand(store::Read& read) {
  const Wish wish = find(read);
  if (wish.field == nullptr) return false;
  std::shared_ptr<const ColumnValues> values;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = units_.find(wish.unit);
    if (at == units_.end() || !at->second.values) return false;
    values = at->second.values;
    touch(at->second);
    if (!is_bad(*values, wish)) note_given(at);  // or read() counts it, which tells what is wrong
  }
  const auto value = value_of(*values, wish, read);
  if (!value) return false;
  if (!read.room->borrow(read, *value, values)) return static_cast<bool>(copy(*value, wish, read));
  read.pieces.assign(1, {0, value->size(), nullptr});
  read.identity = table_->files[wish.file].identity;
  return true;
}

void ColumnStore::read(store::Read& read) {
  const Wish wish = find(read);
  if (wish.field == nullptr)
    return readings_.refuse(read, {Trouble::kInternal, uri_of(read.object) + " can't be read in this way."});
  auto reading = std::make_unique<ValueReading>();
  reading->request = reading->read = &read;
  reading->wish = wish;
  const std::scoped_lock lock(mutex_);
  readings_.add(std::move(reading));
}

void ColumnStore::stat(store::Stat& stat) {
  readings_.refuse(stat, {Trouble::kUnsupported, uri_of(stat.object) + " has no status."});
}

void ColumnStore::list(store::List& list) {
  readings_.refuse(list, {Trouble::kUnsupported, "the columns of " + settings_.name + " have no lists."});
}

void ColumnStore::cancel(store::Request& request) {
  const std::scoped_lock lock(mutex_);
  ValueReading* const reading = readings_.cancel(request);
  if (reading == nullptr) return;
  if (const auto at = units_.find(reading->wish.unit); at != units_.end()) std::erase(at->second.waiting, reading);
}

// ---- on the readings' thread

// Gives the reading its value. False: it waits for its column, and is not this thread's any more.
bool ColumnStore::step(ValueReading& reading, Lock& lock) {
  if (reading.values) return give_to(reading, std::move(reading.values), lock);
  const auto [at, is_new] = units_.try_emplace(reading.wish.unit);
  Unit& unit = at->second;
  if (unit.state != State::kThere) {
    unit.waiting.push_back(&reading);
    unit.place = place_.now();
    reading.waits = true;
    columns_.insert(reading.wish.field->column);
    if (unit.waiting.size() == 1) want(reading.wish.unit, true);
    return false;
  }
  touch(unit);
  if (!unit.values) {
    reading.status = unit.fault;
    return true;
  }
  return give_to(reading, unit.values, lock);
}

// The unit may leave meanwhile, so that the values are held here.
// NOLINTNEXTLINE(performance-unnecessary-value-param): a reference would be to the unit's own
bool ColumnStore::give_to(ValueReading& reading, std::shared_ptr<const ColumnValues> values, Lock& lock) {
  if (const auto at = units_.find(reading.wish.unit); at != units_.end() && at->second.state == State::kThere)
    note_given(at);
  lock.unlock();
  const auto value = value_of(*values, reading.wish, *reading.read);
  Status status = value ? copy(*value, reading.wish, *reading.read) : Status(value.error());
  lock.lock();
  if (reading.status) reading.status = std::move(status);
  return true;
}

// ---- columns of groups

// Of the values, as far as the file tells it before they are decoded.
uint64_t ColumnStore::plain_bytes(size_t unit) const {
  const Chunk& chunk = table_->chunks[unit];
  const Column& column = table_->columns[unit % table_->columns.size()];
  return std::max(chunk.unpacked_bytes, column.width() * chunk.values);
}

uint64_t ColumnStore::needs(size_t unit) const {
  const uint64_t rows = table_->groups[unit / table_->columns.size()].rows;
  return table_->chunks[unit].bytes + plain_bytes(unit) + rows * sizeof(uint64_t);
}

void ColumnStore::want(size_t unit, bool is_demanded) {
  (is_demanded ? demanded_ : expected_).push_back(unit);
  fillers_.notify_one();
}

void ColumnStore::touch(Unit& unit) {
  unit.place = place_.now();
  used_.splice(used_.end(), used_, unit.used);
}

void ColumnStore::note_given(Units::iterator at) {
  const uint64_t rows = table_->groups[at->first / table_->columns.size()].rows;
  if (++at->second.given_rows >= rows && !holds_all_) drop(at);
}

void ColumnStore::drop(Units::iterator at) {
  counts_.held_bytes -= at->second.held_bytes;
  used_.erase(at->second.used);
  units_.erase(at);
  fillers_.notify_one();
}

void ColumnStore::drop_past() {
  if (holds_all_) return;
  while (!used_.empty()) {
    const auto at = units_.find(used_.front());
    if (!place_.is_past(at->second.place)) return;
    drop(at);
  }
}

bool ColumnStore::make_room(uint64_t bytes, bool is_demanded) {
  while (counts_.held_bytes + bytes > settings_.bytes_max) {
    if (used_.empty()) return is_demanded && filling_ == 0;  // one column at a time may be larger than was said
    const auto at = units_.find(used_.front());
    const bool is_past = place_.is_past(at->second.place);
    if (!is_past && !is_demanded) return false;
    if (!is_past) ++counts_.pressed;
    drop(at);
  }
  if (place_.tells_of(counts_.pressed))
    log::warn(
        "{}: more row groups are read from at a time than the {} MiB that source.stream_bytes_max allows, so their "
        "columns are decoded again; a smaller order.window, or a larger source.stream_bytes_max, avoids it",
        settings_.name, settings_.bytes_max >> 20);
  return true;
}

void ColumnStore::expect(uint64_t row, uint64_t place, uint64_t horizon) {
  if (row >= table_->rows) return;
  const size_t group = table_->group_of(row);
  // Most rows are of a group that was just expected.
  const uint64_t before = expected_at_[group].load(std::memory_order_relaxed);
  if (before != 0 && before <= place + 1 && place + 1 - before < std::max<uint64_t>(horizon / kExpectedAgain, 1))
    return;
  expected_at_[group].store(place + 1, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  place_.go_on(place, horizon);
  drop_past();
  for (const size_t column : columns_) {
    const size_t number = group * table_->columns.size() + column;
    const auto [at, is_new] = units_.try_emplace(number);
    if (at->second.state == State::kThere) touch(at->second);
    at->second.place = place_.now();
    if (is_new) want(number, false);
  }
}

// ---- the threads that fetch and decode

// The next unit that is to be filled and has room.
bool ColumnStore::next_fill(size_t& unit) {
  for (const bool is_demanded : {true, false}) {
    auto& queue = is_demanded ? demanded_ : expected_;
    while (!queue.empty()) {
      const auto at = units_.find(queue.front());
      if (at != units_.end() && at->second.state == State::kWanted) {
        if (!make_room(needs(queue.front()), is_demanded)) break;
        unit = queue.front();
        queue.pop_front();
        return true;
      }
      queue.pop_front();  // it was filled, or nobody wants it
    }
    if (!queue.empty() && is_demanded) return false;  // what is demanded goes before
  }
  return false;
}

void ColumnStore::fill_on() {
  Lock lock(mutex_);
  for (;;) {
    size_t unit = 0;
    fillers_.wait(lock, [&] { return stopping_ || next_fill(unit); });
    if (stopping_) return;
    fill(unit, lock);
  }
}

void ColumnStore::fill(size_t number, Lock& lock) {
  const uint64_t reserved = needs(number);
  Unit& unit = units_.at(number);  // stays where it is: a unit that is being filled does not leave
  unit.state = State::kFilling;
  ++filling_;
  counts_.held_bytes += reserved;
  counts_.held_bytes_peak = std::max(counts_.held_bytes_peak, counts_.held_bytes);
  RawBytes memory = spares_->take(plain_bytes(number));
  spares_->shrink(settings_.bytes_max - std::min(settings_.bytes_max, counts_.held_bytes));
  lock.unlock();
  Result<ColumnValues> values = Error{Trouble::kMemory, {}};
  std::shared_ptr<const ColumnValues> kept;
  try {
    const memory_reserve::Spared spared;
    values = bring(number, std::move(memory));
    if (values) {
      const auto made = std::make_shared<KeptValues>(std::move(*values), spares_);
      kept = {made, &made->values};
    }
  } catch (const std::bad_alloc&) {
    values = Error{Trouble::kMemory, {}};
  }
  lock.lock();
  --filling_;
  counts_.held_bytes -= reserved;
  for (ValueReading* const reading : std::exchange(unit.waiting, {})) {
    if (!values && reading->status) reading->status = values.error();
    reading->values = kept;
    readings_.resume(*reading);
  }
  fillers_.notify_all();
  // The next read tries again what may pass. Damage stays.
  if (!values && values.error().trouble != Trouble::kContent) {
    units_.erase(number);
    return;
  }
  ++counts_.chunks;
  counts_.bytes += table_->chunks[number].bytes;
  unit.state = State::kThere;
  unit.values = kept;
  if (!values) unit.fault = values.error();
  unit.held_bytes = unit.values ? unit.values->memory_bytes() : 0;
  counts_.held_bytes += unit.held_bytes;
  unit.place = place_.now();
  unit.used = used_.insert(used_.end(), number);
}

Result<ColumnValues> ColumnStore::bring(size_t number, RawBytes memory) const {
  const Group& group = table_->groups[number / table_->columns.size()];
  const Column& column = table_->columns[number % table_->columns.size()];
  const Chunk& chunk = table_->chunks[number];
  const DataFile& file = table_->files[group.file];
  const auto bad = [&](const std::string& clause) {
    return Error{Trouble::kContent, file.name + ", row group " + std::to_string(group.number) + ", column " +
                                        column.name + ": " + clause + "."};
  };
  if (needs(number) > settings_.bytes_max)
    return bad("it needs " + std::to_string(needs(number) >> 20) + " MiB, more than the " +
               std::to_string(settings_.bytes_max >> 20) + " MiB of source.stream_bytes_max");
  RawBytes bytes = spares_->take(chunk.bytes);
  bytes.resize(chunk.bytes);
  if (Status got = reader_->read(file, chunk.offset, {bytes.data(), bytes.size()}, stop_.get_token()); !got)
    return got.error();
  auto values = decode_chunk({column, chunk, group.rows, settings_.bytes_max, settings_.nulls, &memory}, bytes.bytes());
  spares_->give(std::move(bytes));
  if (!values) return bad(values.error().message);
  return values;
}

ColumnStore::Counts ColumnStore::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace spdld::source::parquet
