// Reads the footers of Parquet files with Arrow C++.
#include <arrow/type.h>
#include <arrow/util/config.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/formats/little_endian.h"
#include "daemon/source/parquet/arrow_module.h"
#include "daemon/source/parquet/class_labels.h"

namespace spdld::source::parquet::with_arrow {
namespace {

using config::DType;
namespace pq = ::parquet;

constexpr uint64_t kTailBytes = 64 << 10;  // the first read, which mostly has the whole footer
constexpr uint64_t kEndBytes = 8;          // the footer's length, and "PAR1"

[[noreturn]] void refuse(const std::string& name, const std::string& clause) {
  throw SetupError(Trouble::kContent, name + clause);
}

void read_whole(store::View& view, uint64_t offset, std::span<uint8_t> to, const std::string& name) {
  const Result<uint64_t> got = view.read(offset, to);
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  if (*got < to.size()) refuse(name, " became shorter while it was read.");
}

// The footer's bytes, without its length.
std::vector<uint8_t> footer_bytes(store::View& view, const std::string& name) {
  const uint64_t size = view.size();
  if (size < kEndBytes + 4) refuse(name, " is no Parquet file: it is too short.");
  std::vector<uint8_t> tail(std::min(size, kTailBytes));
  read_whole(view, size - tail.size(), tail, name);
  const uint8_t* end = tail.data() + tail.size() - kEndBytes;
  if (std::memcmp(end + 4, "PARE", 4) == 0) refuse(name, " is encrypted: write it without encryption.");
  if (std::memcmp(end + 4, "PAR1", 4) != 0)
    refuse(name, " is no Parquet file, or it was cut: its last bytes are not PAR1.");
  const uint64_t length = little_endian({end, 4});
  if (length > size - kEndBytes - 4) refuse(name, " is damaged: its footer is longer than the file.");
  if (length > kFooterBytesMax)
    refuse(name, " has a footer of " + std::to_string(length) + " bytes, more than the limit of " +
                     std::to_string(kFooterBytesMax) + ".");
  std::vector<uint8_t> footer(length);
  if (length + kEndBytes <= tail.size())
    std::copy_n(tail.end() - static_cast<ptrdiff_t>(length + kEndBytes), length, footer.begin());
  else
    read_whole(view, size - kEndBytes - length, footer, name);
  return footer;
}

// ---- columns

DType whole_numbers(int bits, bool is_signed) {
  if (bits == 8) return is_signed ? DType::kInt8 : DType::kUint8;
  if (bits == 16) return is_signed ? DType::kInt16 : DType::kUint16;
  if (bits == 32) return is_signed ? DType::kInt32 : DType::kUint32;
  return is_signed ? DType::kInt64 : DType::kUint64;
}

// Sets how the values of a leaf are converted. An empty text: they can be; else why not.
std::string_view set_conversion(const pq::ColumnDescriptor& leaf, Column& column) {
  const auto& logical = *leaf.logical_type();
  column.conversion = Conversion::kNumbers;
  if (logical.is_decimal()) {
    column.conversion = Conversion::kDecimal;
    column.dtype = DType::kFloat64;
    column.scale = leaf.type_scale();
    return std::abs(column.scale) > 76 ? "has a scale that no decimal has" : "";
  }
  switch (leaf.physical_type()) {
    case pq::Type::BOOLEAN:
      column.conversion = Conversion::kBool;
      column.dtype = DType::kUint8;
      return "";
    case pq::Type::INT32:
    case pq::Type::INT64: {
      const bool is_wide = leaf.physical_type() == pq::Type::INT64;
      column.dtype = is_wide ? DType::kInt64 : DType::kInt32;
      if (!logical.is_int()) return "";
      const auto& whole = static_cast<const pq::IntLogicalType&>(logical);
      column.dtype = whole_numbers(whole.bit_width(), whole.is_signed());
      return "";
    }
    case pq::Type::INT96:
      column.conversion = Conversion::kInt96;
      column.dtype = DType::kInt64;
      return "";
    case pq::Type::FLOAT:
      column.dtype = DType::kFloat32;
      return "";
    case pq::Type::DOUBLE:
      column.dtype = DType::kFloat64;
      return "";
    case pq::Type::FIXED_LEN_BYTE_ARRAY:
      if (logical.is_float16() && leaf.type_length() == 2) {
        column.dtype = DType::kFloat16;
        return "";
      }
      break;
    case pq::Type::BYTE_ARRAY:
      break;
    default:
      return "has a type that is not known";
  }
  const bool is_text = logical.is_string() || logical.is_enum() || logical.is_JSON();
  column.conversion = column.is_list() && !is_text ? Conversion::kBase64 : Conversion::kBytes;
  return "";
}

// The levels from which on the outermost and the innermost list of a leaf have an entry.
void set_lists(const pq::ColumnDescriptor& leaf, Column& column) {
  std::vector<const pq::schema::Node*> path;
  for (const auto* node = leaf.schema_node().get(); node != nullptr && node->parent() != nullptr; node = node->parent())
    path.push_back(node);
  int16_t level = 0;
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if (!(*node)->is_required()) ++level;
    if (!(*node)->is_repeated()) continue;
    if (column.in_list == 0) column.in_list = level;
    column.in_inner = level;
  }
}

using Shape = std::optional<std::vector<int64_t>>;

class Columns {
 public:
  Columns(const pq::SchemaDescriptor& schema, Footer& footer) : schema_(schema), footer_(footer) {}

  // The places of the file's leaves among the columns; npos: the leaf has no form here.
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> add_all(const pq::arrow::SchemaManifest& manifest) {
    places_.assign(static_cast<size_t>(schema_.num_columns()), kNone);
    for (const auto& field : manifest.schema_fields) add(field, field.field->name(), std::vector<int64_t>());
    return places_;
  }

 private:
  void add(const pq::arrow::SchemaField& field, const std::string& name, Shape shape) {
    if (field.is_leaf()) return add_leaf(field.column_index, name, std::move(shape));
    const auto& type = *field.field->type();
    const bool is_fixed = type.id() == ::arrow::Type::FIXED_SIZE_LIST;
    if (is_fixed && shape) shape->push_back(static_cast<const ::arrow::FixedSizeListType&>(type).list_size());
    const bool is_list = is_fixed || type.id() == ::arrow::Type::LIST || type.id() == ::arrow::Type::LARGE_LIST ||
                         type.id() == ::arrow::Type::LIST_VIEW || type.id() == ::arrow::Type::LARGE_LIST_VIEW;
    const bool is_map = type.id() == ::arrow::Type::MAP;
    if (!is_fixed && type.id() != ::arrow::Type::STRUCT) shape.reset();
    for (const auto& child : field.children) {
      // A list names its elements, and a map its entries, for nobody's use.
      if (is_list)
        add(child, name, shape);
      else if (is_map)
        for (const auto& part : child.children) add(part, name + '.' + part.field->name(), shape);
      else
        add(child, name + '.' + child.field->name(), shape);
    }
  }

  void add_leaf(int number, const std::string& name, Shape shape) {
    const pq::ColumnDescriptor& leaf = *schema_.Column(number);
    Column column;
    column.name = name;
    column.physical = static_cast<uint8_t>(leaf.physical_type());
    column.type_length = leaf.physical_type() == pq::Type::FIXED_LEN_BYTE_ARRAY ? leaf.type_length() : 0;
    column.definition = leaf.max_definition_level();
    column.repetition = leaf.max_repetition_level();
    set_lists(leaf, column);
    if (column.is_list()) column.list_shape = std::move(shape);
    std::string_view why_not = set_conversion(leaf, column);
    const auto has_name = [&](const Column& other) { return other.name == name; };
    if (name.empty() || name.find('\0') != std::string::npos) why_not = "has a name that no field can have";
    if (std::any_of(footer_.columns.begin(), footer_.columns.end(), has_name))
      why_not = "has the name of an earlier one";
    if (!why_not.empty()) {
      footer_.left_out.push_back("the column " + name + ' ' + std::string(why_not) + ", so it is no field.");
      return;
    }
    places_[static_cast<size_t>(number)] = footer_.columns.size();
    footer_.columns.push_back(std::move(column));
  }

  const pq::SchemaDescriptor& schema_;
  Footer& footer_;
  std::vector<size_t> places_;
};

// ---- row groups

// parquet-mr before 1.2.9 leaves the header of the dictionary out of a column's size (PARQUET-816): so many bytes more
// are read, as in Arrow's own reader, and its pages end with their values.
constexpr uint64_t kDictionaryHeaderBytesMax = 100;

bool counts_no_dictionary_header(const pq::FileMetaData& meta) {
  return meta.writer_version().VersionLt(pq::ApplicationVersion::PARQUET_816_FIXED_VERSION());
}

Chunk chunk_of(const pq::ColumnChunkMetaData& meta, uint64_t file_bytes, const std::string& name,
               uint64_t spare_bytes) {
  int64_t start = meta.data_page_offset();
  // Some writers give 0 for a dictionary that is not there.
  if (meta.has_dictionary_page() && meta.dictionary_page_offset() > 0)
    start = std::min(start, meta.dictionary_page_offset());
  const int64_t bytes = meta.total_compressed_size(), unpacked = meta.total_uncompressed_size();
  if (start < 4 || bytes <= 0 || unpacked < 0 || meta.num_values() < 0 || static_cast<uint64_t>(start) > file_bytes ||
      static_cast<uint64_t>(bytes) > file_bytes - static_cast<uint64_t>(start))
    refuse(name, " is damaged: a column of a row group lies outside the file.");
  if (!meta.file_path().empty()) refuse(name, " has columns in other files, which are not read.");
  if (meta.crypto_metadata() != nullptr) refuse(name, " has encrypted columns: write it without encryption.");
  const uint64_t behind = file_bytes - static_cast<uint64_t>(start) - static_cast<uint64_t>(bytes);
  return {static_cast<uint64_t>(start), static_cast<uint64_t>(bytes) + std::min(spare_bytes, behind),
          static_cast<uint64_t>(unpacked), static_cast<uint64_t>(meta.num_values()),
          static_cast<uint8_t>(meta.compression())};
}

void add_groups(const pq::FileMetaData& meta, const std::vector<size_t>& places, uint64_t file_bytes,
                const std::string& name, Footer& footer) {
  const size_t columns = footer.columns.size();
  const uint64_t spare_bytes = counts_no_dictionary_header(meta) ? kDictionaryHeaderBytesMax : 0;
  if (meta.num_row_groups() < 0 || static_cast<size_t>(meta.num_row_groups()) > kGroupsMax)
    refuse(name, " has more row groups than the limit of " + std::to_string(kGroupsMax) + ".");
  for (int g = 0; g < meta.num_row_groups(); ++g) {
    const auto group = meta.RowGroup(g);
    if (group->num_rows() < 0 || group->num_rows() > int64_t{1} << 40 ||
        static_cast<size_t>(group->num_columns()) != places.size())
      refuse(name, " is damaged: a row group has another number of rows or columns than can be.");
    if (group->num_rows() == 0) continue;
    footer.group_rows.push_back(static_cast<uint64_t>(group->num_rows()));
    footer.chunks.resize(footer.chunks.size() + columns);
    Chunk* const chunks = footer.chunks.data() + footer.chunks.size() - columns;
    for (size_t leaf = 0; leaf < places.size(); ++leaf)
      if (places[leaf] != Columns::kNone)
        chunks[places[leaf]] = chunk_of(*group->ColumnChunk(static_cast<int>(leaf)), file_bytes, name, spare_bytes);
  }
}

// ---- statistics

template <typename Type, typename Made>
void set_bounds(config::Extent& extent, const pq::Statistics& any, const Made& made) {
  const auto& typed = static_cast<const pq::TypedStatistics<Type>&>(any);
  const std::optional<config::ConditionValue> least = made(typed.min()), most = made(typed.max());
  if (least && most && !(*most < *least)) extent.bounds.emplace(*least, *most);
}

// A column's statistics that say nothing of its values as its field has them are passed over.
void set_bounds(config::Extent& extent, const pq::Statistics& statistics, const Column& column) {
  using config::Number;
  using Value = std::optional<config::ConditionValue>;
  const auto real = [](auto value) { return std::isnan(value) ? Value() : Value(Number(value)); };
  const auto text = [](const uint8_t* bytes, size_t size) {
    return Value(std::string(reinterpret_cast<const char*>(bytes), size));
  };
  const bool is_unsigned = column.dtype == DType::kUint32 || column.dtype == DType::kUint64;
  switch (static_cast<pq::Type::type>(column.physical)) {
    case pq::Type::BOOLEAN:
      return set_bounds<pq::BooleanType>(extent, statistics, [](bool value) { return Value(value); });
    case pq::Type::INT32:  // narrower types keep to their range, or the row has no value
      return set_bounds<pq::Int32Type>(extent, statistics, [&](int32_t value) {
        return Value(is_unsigned ? Number(static_cast<uint32_t>(value)) : Number(value));
      });
    case pq::Type::INT64:
      return set_bounds<pq::Int64Type>(extent, statistics, [&](int64_t value) {
        return Value(is_unsigned ? Number(static_cast<uint64_t>(value)) : Number(value));
      });
    case pq::Type::FLOAT:
      return set_bounds<pq::FloatType>(extent, statistics, real);
    case pq::Type::DOUBLE:
      return set_bounds<pq::DoubleType>(extent, statistics, real);
    case pq::Type::BYTE_ARRAY:
      return set_bounds<pq::ByteArrayType>(extent, statistics,
                                           [&](const pq::ByteArray& value) { return text(value.ptr, value.len); });
    case pq::Type::FIXED_LEN_BYTE_ARRAY:
      return set_bounds<pq::FLBAType>(extent, statistics, [&](const pq::FixedLenByteArray& value) {
        return text(value.ptr, static_cast<size_t>(column.type_length));
      });
    default:
      return;
  }
}

config::Extent extent_of(const Column& column, const pq::ColumnChunkMetaData& meta, uint64_t rows) {
  config::Extent extent;
  extent.has_nan = column.dtype == DType::kFloat32 || column.dtype == DType::kFloat64;
  // Of a narrower type a number may be beyond it: then the row has no value, and no statistics tell.
  const bool is_narrow = column.is_numeric() && column.physical == pq::Type::INT32 && column.width() < 4;
  const bool is_plain = column.conversion == Conversion::kBytes || column.conversion == Conversion::kNumbers ||
                        column.conversion == Conversion::kBool;
  if (column.is_list() || is_narrow || !is_plain || column.dtype == DType::kFloat16) return extent;
  if (!column.is_nullable()) extent.has_nulls = false;
  const auto statistics = meta.is_stats_set() ? meta.statistics() : nullptr;
  if (statistics == nullptr) return extent;
  const int64_t nulls = statistics->HasNullCount() ? statistics->null_count() : -1;
  if (nulls >= 0 && static_cast<uint64_t>(nulls) <= rows) {
    extent.has_nulls = nulls > 0;
    extent.has_values = static_cast<uint64_t>(nulls) < rows;
  }
  if (statistics->HasMinMax()) set_bounds(extent, *statistics, column);
  return extent;
}

void add_extents(const pq::FileMetaData& meta, const std::vector<size_t>& places, const Footer& footer,
                 Statistics& statistics) {
  std::vector<std::optional<size_t>> leaves;  // by wanted column
  for (const std::string& name : statistics.columns) {
    const auto is_leaf = [&](size_t place) { return place != Columns::kNone && footer.columns[place].name == name; };
    const auto found = std::find_if(places.begin(), places.end(), is_leaf);
    leaves.push_back(found == places.end() ? std::nullopt : std::optional(static_cast<size_t>(found - places.begin())));
  }
  for (int g = 0; g < meta.num_row_groups(); ++g) {
    const auto group = meta.RowGroup(g);
    if (group->num_rows() == 0) continue;
    for (const auto& leaf : leaves) {
      // A column that is not there has no value in any row.
      statistics.extents.push_back(leaf ? extent_of(footer.columns[places[*leaf]],
                                                    *group->ColumnChunk(static_cast<int>(*leaf)),
                                                    static_cast<uint64_t>(group->num_rows()))
                                        : config::Extent{{}, true, false, false});
    }
  }
}

Footer parse(const std::vector<uint8_t>& bytes, uint64_t file_bytes, const std::string& name, Statistics* statistics) {
#if ARROW_VERSION_MAJOR >= 26
  const auto meta = pq::FileMetaData::Make(bytes.data(), static_cast<int64_t>(bytes.size()));
#else
  auto length = static_cast<uint32_t>(bytes.size());
  const auto meta = pq::FileMetaData::Make(bytes.data(), &length);
#endif
  if (meta->num_columns() < 0 || static_cast<size_t>(meta->num_columns()) > kColumnsMax)
    refuse(name, " has more columns than the limit of " + std::to_string(kColumnsMax) + ".");
  pq::arrow::SchemaManifest manifest;
  const ::arrow::Status made = pq::arrow::SchemaManifest::Make(meta->schema(), meta->key_value_metadata(),
                                                               pq::default_arrow_reader_properties(), &manifest);
  if (!made.ok()) refuse(name, " has a schema that is not read here: " + made.message() + ".");
  Footer footer;
  const std::vector<size_t> places = Columns(*meta->schema(), footer).add_all(manifest);
  add_groups(*meta, places, file_bytes, name, footer);
  if (statistics != nullptr) add_extents(*meta, places, footer, *statistics);
  const auto& keys = meta->key_value_metadata();
  if (const int key = keys == nullptr ? -1 : keys->FindKey(std::string(kFeaturesKey)); key >= 0)
    footer.features = keys->value(key);
  return footer;
}

}  // namespace

Footer read_footer(store::View& view, const std::string& name, Statistics* statistics) {
  const std::vector<uint8_t> bytes = footer_bytes(view, name);
  try {
    return parse(bytes, view.size(), name, statistics);
  } catch (const pq::ParquetException& error) {
    refuse(name, std::string(" is damaged: ") + error.what() + ".");
  }
}

}  // namespace spdld::source::parquet::with_arrow
