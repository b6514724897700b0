// Decodes columns of row groups with Arrow C++: its column readers unpack pages and give values with their levels,
// which go straight into the memory that they stay in.
#include <arrow/io/memory.h>
#include <arrow/util/config.h>
#include <arrow/util/decimal.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "config/text/json.h"
#include "daemon/base/formats/base64.h"
#include "daemon/base/wide.h"
#include "daemon/source/parquet/arrow_module.h"
#include "daemon/source/parquet/bounded_pool.h"

namespace spdld::source::parquet::with_arrow {
namespace {

namespace pq = ::parquet;

// A fault of the values, as against one of their pages, which Arrow finds.
struct BadValues : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- one value as its field has it

using Number = std::array<uint8_t, 8>;

template <typename T>
Number number_of(const T& value) {
  static_assert(sizeof(T) <= sizeof(Number));
  Number bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

constexpr int64_t kJulianDayOf1970 = 2440588;
constexpr int64_t kDayNs = int64_t{86400} * 1'000'000'000;

// The double that is nearest to a decimal. Arrow's own conversion is one unit off now and then.
double nearest_double(const ::arrow::Decimal256& value, int32_t scale) {
  constexpr std::array kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t kExact = int64_t{1} << 53;
  // Both numbers are doubles, so that their quotient is rounded once.
  if (scale >= 0 && scale < static_cast<int32_t>(kPowers.size()) && value <= ::arrow::Decimal256(kExact) &&
      value >= ::arrow::Decimal256(-kExact))
    return static_cast<double>(static_cast<int64_t>(value.low_bits())) / kPowers[static_cast<size_t>(scale)];
  const std::string digits = value.ToString(scale);
  double nearest = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), nearest);
  return nearest;
}

// The time of day in ns, and the day (https://github.com/apache/parquet-format/pull/49). None: no int64 holds the time
// in ns since 1970.
std::optional<Number> time_of(const pq::Int96& value) {
  const int64_t days = int64_t{static_cast<int32_t>(value.value[2])} - kJulianDayOf1970;
  const auto of_day_ns = static_cast<int64_t>(uint64_t{value.value[1]} << 32 | value.value[0]);
  const Wide exact = static_cast<Wide>(days) * static_cast<Wide>(kDayNs) + static_cast<Wide>(of_day_ns);
  const auto ns = static_cast<int64_t>(static_cast<uint64_t>(exact));
  if (static_cast<Wide>(ns) != exact) return std::nullopt;  // numbers below zero are at the type's upper end
  return number_of(ns);
}

// Whether a number of 32 bits is one of the narrower type that the schema claims.
template <typename Narrow>
bool is_within(int32_t value) {
  return value >= int32_t{std::numeric_limits<Narrow>::min()} && value <= int32_t{std::numeric_limits<Narrow>::max()};
}
bool fits(config::DType dtype, int32_t value) {
  switch (dtype) {
    case config::DType::kInt8:
      return is_within<int8_t>(value);
    case config::DType::kUint8:
      return is_within<uint8_t>(value);
    case config::DType::kInt16:
      return is_within<int16_t>(value);
    case config::DType::kUint16:
      return is_within<uint16_t>(value);
    default:
      return true;
  }
}

// None: the field's type can't hold the value.
template <typename T>
std::optional<Number> converted(const Column& column, const T& value) {
  if constexpr (std::is_same_v<T, pq::Int96>) {
    return time_of(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return number_of(static_cast<uint8_t>(value));
  } else {
    if constexpr (std::is_same_v<T, int32_t>) {
      if (!fits(column.dtype, value)) return std::nullopt;
    }
    if (column.conversion != Conversion::kDecimal) return number_of(value);
    return number_of(nearest_double(::arrow::Decimal256(static_cast<int64_t>(value)), column.scale));
  }
}

Number decimal_of(const Column& column, const uint8_t* bytes, size_t size) {
  const auto value = ::arrow::Decimal256::FromBigEndian(bytes, static_cast<int32_t>(size));
  if (!value.ok()) throw BadValues("a decimal has " + std::to_string(size) + " bytes");
  return number_of(nearest_double(*value, column.scale));
}

// ---- rows

// Makes rows of values and of levels. https://parquet.apache.org/docs/file-format/nestedencoding/
class RowMaker {
 public:
  RowMaker(const ChunkToDecode& what)
      : what_(what),
        column_(what.column),
        width_(column_.width()),
        values_(column_.is_list() ? 0 : width_, what.memory != nullptr ? std::move(*what.memory) : RawBytes()) {
    const uint64_t bytes = std::max<uint64_t>(what.chunk.unpacked_bytes, width_ * what.chunk.values);
    values_.reserve(std::min(what.rows, what.chunk.values), std::min(bytes, what.bytes_max));
    fallback_ = null_number();
  }

  void add_bytes(const uint8_t* bytes, size_t size) {
    if (!column_.is_list()) {
      check_room(size);
      return values_.append(bytes, size);
    }
    // A value in base64 is larger than its bytes: there must be room before it is made.
    if (column_.conversion == Conversion::kBase64) check_room(size);
    const std::string quoted = column_.conversion == Conversion::kBase64
                                   ? '"' + written_base64({bytes, size}) + '"'
                                   : config::Json(std::string_view(reinterpret_cast<const char*>(bytes), size)).dump();
    check_room(quoted.size() + 1);
    values_.append(has_element_ ? "," : "[", 1);
    values_.append(quoted.data(), quoted.size());
    has_element_ = true;
  }
  void add_number(const Number& number) {
    check_room(width_);
    values_.append(number.data(), width_);
  }
  // A number that the field's type can't hold.
  void add_beyond() {
    values_.mark_beyond();
    if (!column_.is_list()) add_number({});
  }
  void add_null() {
    if (what_.nulls.are_bad || !column_.is_list()) values_.mark_null();
    if (column_.is_list() && what_.nulls.are_bad) return;
    add_fallback();
  }
  // A list that is null, or a null that is no list's element.
  void add_null_row() {
    values_.mark_null();
    if (!column_.is_list()) add_fallback();
  }
  void begin_row() {
    if (is_open_) end_row();
    is_open_ = true;
    has_element_ = false;
  }
  void end_row() {
    if (column_.is_list() && !column_.is_numeric()) values_.append(has_element_ ? "]" : "[]", has_element_ ? 1 : 2);
    values_.end_row();
    if (values_.rows() > what_.rows) throw BadValues("it has more rows than its row group");
  }
  ColumnValues finish() {
    if (is_open_) end_row();
    if (values_.rows() != what_.rows)
      throw BadValues("it has " + std::to_string(values_.rows()) + " rows, and its row group " +
                      std::to_string(what_.rows));
    values_.fit();
    return std::move(values_);
  }

 private:
  void add_fallback() {
    if (column_.is_numeric()) return add_number(fallback_);
    const std::string& text = what_.nulls.text;
    add_bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  void check_room(size_t more) const {
    if (more > what_.bytes_max - std::min(values_.size(), what_.bytes_max))
      throw BadValues("its values are more than " + std::to_string(what_.bytes_max) +
                      " bytes, so that source.stream_bytes_max can't hold them");
  }
  template <typename T>
  Number whole_fallback() const {
    const double wanted = what_.nulls.number;
    if (std::isnan(wanted)) return {};
    const auto least = static_cast<double>(std::numeric_limits<T>::min());
    const auto most = static_cast<double>(std::numeric_limits<T>::max());
    // The highest int64 and uint64 are no doubles: their neighbours above are.
    if (wanted <= least) return number_of(std::numeric_limits<T>::min());
    return number_of(wanted >= most ? std::numeric_limits<T>::max() : static_cast<T>(wanted));
  }
  Number null_number() const;

  const ChunkToDecode& what_;
  const Column& column_;
  const size_t width_;
  ColumnValues values_;
  Number fallback_{};
  bool is_open_ = false, has_element_ = false;
};

// Of an IEEE half, from a float: rounded towards zero, which a value that is made up may be.
uint16_t half_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (std::isnan(value)) return sign | 0x7e00;
  const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + 15;
  if (exponent >= 31) return sign | 0x7c00;
  if (exponent <= 0) return sign;
  return static_cast<uint16_t>(sign | exponent << 10 | (bits >> 13 & 0x3ff));
}

Number RowMaker::null_number() const {
  using config::DType;
  switch (column_.dtype) {
    case DType::kInt8:
      return whole_fallback<int8_t>();
    case DType::kUint8:
      return whole_fallback<uint8_t>();
    case DType::kInt16:
      return whole_fallback<int16_t>();
    case DType::kUint16:
      return whole_fallback<uint16_t>();
    case DType::kInt32:
      return whole_fallback<int32_t>();
    case DType::kUint32:
      return whole_fallback<uint32_t>();
    case DType::kInt64:
      return whole_fallback<int64_t>();
    case DType::kUint64:
      return whole_fallback<uint64_t>();
    case DType::kFloat16:
      return number_of(half_of(static_cast<float>(what_.nulls.number)));
    case DType::kFloat32:
      return number_of(static_cast<float>(what_.nulls.number));
    default:
      return number_of(what_.nulls.number);
  }
}

// ---- pages

template <typename Type, typename Add>
void read_all(pq::ColumnReader& any, const Column& column, RowMaker& rows, const Add& add) {
  constexpr int64_t kLevels = 1024;
  using Value = typename Type::c_type;
  auto& reader = static_cast<pq::TypedColumnReader<Type>&>(any);
  std::array<int16_t, kLevels> definitions{}, repetitions{};
  const auto values = std::make_unique<Value[]>(kLevels);
  while (reader.HasNext()) {
    int64_t present = 0;
    const int64_t levels = reader.ReadBatch(kLevels, definitions.data(), repetitions.data(), values.get(), &present);
    if (levels <= 0 && present <= 0) throw BadValues("a page has no values");
    int64_t next = 0;
    for (int64_t i = 0; i < levels; ++i) {
      const int16_t definition = column.definition > 0 ? definitions[i] : int16_t{0};
      if (column.repetition == 0 || repetitions[i] == 0) rows.begin_row();
      if (definition == column.definition && next < present)
        add(values[next++]);
      else if (!column.is_list() || definition < column.in_list - 1)
        rows.add_null_row();
      else if (definition >= column.in_inner && definition < column.definition)
        rows.add_null();
    }
  }
}

void read_rows(pq::ColumnReader& reader, const Column& column, RowMaker& rows) {
  const auto number = [&](const auto& value) {
    const std::optional<Number> made = converted(column, value);
    if (made)
      rows.add_number(*made);
    else
      rows.add_beyond();
  };
  const bool is_decimal = column.conversion == Conversion::kDecimal;
  const auto bytes = [&](const uint8_t* from, size_t size) {
    if (is_decimal) return rows.add_number(decimal_of(column, from, size));
    if (column.is_numeric()) {  // float16
      Number half{};
      std::memcpy(half.data(), from, std::min<size_t>(size, 2));
      return rows.add_number(half);
    }
    rows.add_bytes(from, size);
  };
  switch (static_cast<pq::Type::type>(column.physical)) {
    case pq::Type::BOOLEAN:
      return read_all<pq::BooleanType>(reader, column, rows, number);
    case pq::Type::INT32:
      return read_all<pq::Int32Type>(reader, column, rows, number);
    case pq::Type::INT64:
      return read_all<pq::Int64Type>(reader, column, rows, number);
    case pq::Type::INT96:
      return read_all<pq::Int96Type>(reader, column, rows, number);
    case pq::Type::FLOAT:
      return read_all<pq::FloatType>(reader, column, rows, number);
    case pq::Type::DOUBLE:
      return read_all<pq::DoubleType>(reader, column, rows, number);
    case pq::Type::BYTE_ARRAY:
      return read_all<pq::ByteArrayType>(reader, column, rows,
                                         [&](const pq::ByteArray& value) { bytes(value.ptr, value.len); });
    case pq::Type::FIXED_LEN_BYTE_ARRAY:
      return read_all<pq::FLBAType>(reader, column, rows, [&](const pq::FixedLenByteArray& value) {
        bytes(value.ptr, static_cast<size_t>(column.type_length));
      });
    default:
      throw BadValues("its type is not known");
  }
}

std::unique_ptr<pq::PageReader> pages_of(const ChunkToDecode& what, std::span<const uint8_t> bytes,
                                         const pq::ColumnDescriptor& leaf, ::arrow::MemoryPool& pool) {
  auto stream = std::make_shared<::arrow::io::BufferReader>(
      std::make_shared<::arrow::Buffer>(bytes.data(), static_cast<int64_t>(bytes.size())));
  const auto values = static_cast<int64_t>(what.chunk.values);
  const auto codec = static_cast<pq::Compression::type>(what.chunk.codec);
  pq::ReaderProperties properties(&pool);
  properties.set_page_checksum_verification(true);  // of pages that have a checksum
#if ARROW_VERSION_MAJOR >= 25
  return pq::PageReader::Open(std::move(stream), values, codec, properties, leaf);
#else
  static_cast<void>(leaf);
  return pq::PageReader::Open(std::move(stream), values, codec, properties);
#endif
}

// Arrow's sentences have a kind before them and may have a period behind.
std::string clause_of(const char* text) {
  std::string clause(text);
  if (clause.find("CRC checksum") != std::string::npos)
    return "a page has another checksum than its header says, so that the file is damaged";
  while (!clause.empty() && (clause.back() == '.' || clause.back() == '\n')) clause.pop_back();
  return clause;
}

}  // namespace

Result<ColumnValues> decode_chunk(const ChunkToDecode& what, std::span<const uint8_t> bytes) {
  const auto bad = [](const std::string& clause) { return Error{Trouble::kContent, "can't be decoded: " + clause}; };
  try {
    const Column& column = what.column;
    RowMaker rows(what);
    if (what.chunk.is_absent()) {
      for (uint64_t row = 0; row < what.rows; ++row) {
        rows.begin_row();
        rows.add_null_row();
      }
      return rows.finish();
    }
    BoundedPool pool(static_cast<int64_t>(std::min<uint64_t>(what.bytes_max, uint64_t{1} << 40)) + (1 << 20));
    const auto node = pq::schema::PrimitiveNode::Make("values", pq::Repetition::REQUIRED,
                                                      static_cast<pq::Type::type>(column.physical),
                                                      pq::ConvertedType::NONE, column.type_length);
    const pq::ColumnDescriptor leaf(node, column.definition, column.repetition);
    const auto reader = pq::ColumnReader::Make(&leaf, pages_of(what, bytes, leaf, pool), &pool);
    read_rows(*reader, column, rows);
    return rows.finish();
  } catch (const pq::ParquetStatusException& error) {
    if (error.status().IsOutOfMemory()) throw std::bad_alloc();
    return bad(clause_of(error.what()));
  } catch (const pq::ParquetException& error) {
    return bad(clause_of(error.what()));
  } catch (const BadValues& error) {
    return bad(error.what());
  }
}

}  // namespace spdld::source::parquet::with_arrow
