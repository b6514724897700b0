#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "config/npy_values.h"
#include "config/text/dtype.h"
#include "config/text/words.h"
#include "daemon/base/formats/little_endian.h"
#include "daemon/base/formats/npy.h"
#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/tables/mds.h"
#include "daemon/source/tables/reading/block_reader.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {
namespace {

constexpr size_t kShardsMax = 1 << 20;  // of an index

[[noreturn]] void refuse_mds(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

std::optional<config::DType> dtype_of(std::string_view name) {
  for (size_t i = 0; i < config::kDTypeCount; ++i) {
    const auto dtype = static_cast<config::DType>(i);
    const bool is_complex = dtype == config::DType::kComplex64 || dtype == config::DType::kComplex128;
    if (dtype != config::DType::kBfloat16 && dtype != config::DType::kBool && !is_complex &&
        config::dtype_name(dtype) == name)
      return dtype;
  }
  return std::nullopt;
}

// "2,3" of "ndarray:float32:2,3".
std::optional<std::vector<int64_t>> shape_of(std::string_view text) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    const std::string_view number = text.substr(0, text.find(','));
    int64_t size = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (error != std::errc() || end != number.data() + number.size() || size < 0 || size > INT32_MAX)
      return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(std::min(text.size(), number.size() + 1));
  }
  return shape.size() > 8 ? std::nullopt : std::optional(shape);
}

// The index's entries for one shard, as they are met.
class ShardReader {
 public:
  explicit ShardReader(const std::string& path) : path_(path) {}

  MdsShard read(std::string_view table) {
    if (!for_each_entry_of(table, [&](const JsonValue& key, const JsonValue& value) { return take(key, value); }))
      refuse_mds(path_ + " has a shard that is described in no way that this build knows.");
    const bool is_whole = names_.size() == encodings_.size() && names_.size() == sizes_.size() && !names_.empty();
    if (!is_whole || !has_samples_ || shard_.name.empty())
      refuse_mds(path_ + ": a shard lacks raw_data, samples, or a name, an encoding and a size for each column.");
    if (names_.size() > kTableColumnsMax)
      refuse_mds(path_ + ": a shard has more than " + std::to_string(kTableColumnsMax) + " columns.");
    for (size_t i = 0; i < names_.size(); ++i) shard_.columns.push_back({names_[i], encodings_[i], sizes_[i]});
    return std::move(shard_);
  }

 private:
  bool take(const JsonValue& key, const JsonValue& value) {
    if (key.text == "column_names") return take_texts(value, names_);
    if (key.text == "column_encodings") return take_texts(value, encodings_);
    if (key.text == "column_sizes")
      return for_each_element_of(value.text, [&](const JsonValue& size) {
        sizes_.push_back(plain_count(size));
        return size.kind == JsonKind::kNull || sizes_.back();
      });
    if (key.text == "compression" && value.kind != JsonKind::kNull) check_compression(value.text);
    if (key.text == "format" && value.text != "mds")
      refuse_mds(path_ + ": its shards are of the format " + config::printable(value.text) + ", and not mds.");
    if (key.text == "version" && value.text != "2")
      refuse_mds(path_ + ": its shards are of version " + config::printable(value.text) + ", and not 2.");
    if (key.text == "samples") {
      has_samples_ = true;
      return take_count(value, shard_.samples);
    }
    if (key.text == "raw_data") return take_file(value, shard_.name, &shard_.bytes);
    if (key.text == "zip_data" && value.kind != JsonKind::kNull) return take_file(value, shard_.packed_name, nullptr);
    return true;
  }

  static bool take_file(const JsonValue& table, std::string& to, uint64_t* bytes) {
    return for_each_entry_of(table.text, [&](const JsonValue& key, const JsonValue& of) {
      if (key.text == "bytes" && bytes != nullptr) return take_count(of, *bytes);
      if (key.text != "basename") return true;
      const auto name = of.kind == JsonKind::kText ? plain_text(of) : std::nullopt;
      if (name) to = *name;
      return name && is_plain_name(*name);
    });
  }

  // "zstd:7": an algorithm, perhaps with its level.
  void check_compression(std::string_view text) const {
    const std::string_view algorithm = text.substr(0, text.find(':'));
    if (algorithm != "zstd" && algorithm != "gz")
      refuse_mds(path_ + ": its shards are compressed by " + config::printable(algorithm) +
                 ", and shards are read that zstd or gz compressed, or none: write them with compression=\"zstd\".");
  }

  // Shards lie in the index's folder.
  static bool is_plain_name(const std::string& name) {
    return !name.empty() && name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
           name != "." && name != "..";
  }
  static bool take_count(const JsonValue& value, uint64_t& count) {
    const auto number = plain_count(value);
    count = number.value_or(0);
    return number.has_value();
  }
  static bool take_texts(const JsonValue& list, std::vector<std::string>& texts) {
    return for_each_element_of(list.text, [&](const JsonValue& element) {
      const auto text = element.kind == JsonKind::kText ? plain_text(element) : std::nullopt;
      if (text) texts.push_back(*text);
      return text.has_value();
    });
  }

  const std::string& path_;
  MdsShard shard_;
  std::vector<std::string> names_, encodings_;
  std::vector<std::optional<uint64_t>> sizes_;
  bool has_samples_ = false;
};

// An array whose encoding leaves its shape to each value, or its type and its shape.
struct OpenArray {
  std::optional<config::DType> dtype;
};
std::optional<OpenArray> open_array_of(std::string_view encoding) {
  constexpr std::string_view kArray = "ndarray";
  if (encoding == kArray) return OpenArray{};
  if (!encoding.starts_with("ndarray:")) return std::nullopt;
  const auto dtype = dtype_of(encoding.substr(kArray.size() + 1));
  return dtype ? std::optional(OpenArray{dtype}) : std::nullopt;
}

// The types of arrays that tell theirs, by numbers.
std::optional<config::DType> array_dtype(uint8_t number) {
  using config::DType;
  constexpr std::array<std::pair<uint8_t, DType>, 11> kNumbers = {{{8, DType::kUint8},
                                                                   {9, DType::kInt8},
                                                                   {16, DType::kUint16},
                                                                   {17, DType::kInt16},
                                                                   {18, DType::kFloat16},
                                                                   {32, DType::kUint32},
                                                                   {33, DType::kInt32},
                                                                   {34, DType::kFloat32},
                                                                   {64, DType::kUint64},
                                                                   {65, DType::kInt64},
                                                                   {66, DType::kFloat64}}};
  for (const auto& [known, dtype] : kNumbers)
    if (known == number) return dtype;
  return std::nullopt;
}

// A value of such a column: the type's number where the encoding has none, a byte with the number of dimensions and
// the bytes of each one's size, the sizes, and the elements.
struct ArrayValue {
  config::DType dtype = config::DType::kUint8;
  std::vector<uint64_t> shape;
  std::span<const uint8_t> elements;
};
Result<ArrayValue> array_in(std::span<const uint8_t> value, const OpenArray& array) {
  const Error damaged{Trouble::kContent, "its array is damaged: it has other bytes than its type and its shape say"};
  size_t at = 0;
  ArrayValue found;
  std::optional<config::DType> dtype = array.dtype;
  if (!dtype && at < value.size()) dtype = array_dtype(value[at++]);
  if (!dtype || at >= value.size()) return damaged;
  found.dtype = *dtype;
  const size_t dimensions = value[at] >> 2, size_bytes = size_t{1} << (value[at] & 3);
  ++at;
  if (dimensions * size_bytes > value.size() - at) return damaged;
  for (size_t i = 0; i < dimensions; ++i, at += size_bytes)
    found.shape.push_back(little_endian(value.subspan(at, size_bytes)));
  found.elements = value.subspan(at);
  array::Npy told;
  told.dtype = found.dtype;
  told.shape = found.shape;
  if (array::data_bytes(told) != found.elements.size()) return damaged;
  return found;
}

uint64_t number_at(std::span<const uint8_t> bytes, uint64_t at) {
  return little_endian(bytes, static_cast<size_t>(at), 4);
}

}  // namespace

std::optional<config::RawValues> values_of_encoding(std::string_view encoding) {
  if (encoding == "int") return config::RawValues{config::DType::kInt64, std::vector<int64_t>()};
  if (const auto dtype = dtype_of(encoding)) return config::RawValues{*dtype, std::vector<int64_t>()};
  if (const auto array = open_array_of(encoding)) return config::npy_values(array->dtype);
  // An array whose type and shape are written once for all samples is its values alone.
  if (!encoding.starts_with("ndarray:")) return std::nullopt;
  encoding.remove_prefix(8);
  const size_t colon = encoding.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto dtype = dtype_of(encoding.substr(0, colon));
  const auto shape = shape_of(encoding.substr(colon + 1));
  if (!dtype || !shape) return std::nullopt;
  return config::RawValues{*dtype, *shape};
}

std::vector<MdsShard> read_mds_index(std::string_view text, const std::string& path) {
  std::vector<MdsShard> shards;
  bool has_version = false;
  text = without_byte_order_mark(text);
  const bool is_sound = for_each_entry_of(text, [&](const JsonValue& key, const JsonValue& value) {
    if (key.text == "version") {
      if (value.text != "2") refuse_mds(path + " is of version " + config::printable(value.text) + ", and not 2.");
      has_version = true;
    }
    if (key.text != "shards") return true;
    return for_each_element_of(value.text, [&](const JsonValue& shard) {
      if (shards.size() == kShardsMax) refuse_mds(path + " has too many shards.");
      shards.push_back(ShardReader(path).read(shard.text));
      return true;
    });
  });
  if (!is_sound || !has_version)
    refuse_mds(path + " is no index of MDS shards: it must be a table of JSON with version and shards.");
  return shards;
}

TableIndex index_mds(store::View& file, const std::string& path, const MdsShard& shard, std::atomic<uint64_t>& done,
                     const std::stop_token& stop) {
  // The content of a compressed shard must have as many bytes as its index says.
  const bool is_packed = file.size() == store::View::kSizeUnknown;
  const uint64_t file_bytes = is_packed ? shard.bytes : file.size();
  const auto damaged = [&](const std::string& what) -> SetupError {
    return {Trouble::kContent, path + " is no whole shard: " + what + ". Write or copy it again."};
  };
  if (shard.bytes != 0 && file_bytes != shard.bytes)
    throw damaged("it has " + std::to_string(file_bytes) + " bytes, and its index says " + std::to_string(shard.bytes));
  const uint64_t head = 4 * (shard.samples + 2);
  // Nothing behind the places is looked at.
  BlockReader reader(file, done, stop, static_cast<size_t>(std::min<uint64_t>(head, BlockReader::kBlockBytes)));
  if (shard.samples > file_bytes / 4 || !reader.have(head)) throw damaged("it ends within the places of its samples");
  const std::string_view text = reader.text();
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (number_at(bytes, 0) != shard.samples)
    throw damaged("it has " + std::to_string(number_at(bytes, 0)) + " samples, and its index says " +
                  std::to_string(shard.samples));
  TableIndex index;
  Fingerprint content;
  for (uint64_t i = 0; i < shard.samples; ++i) {
    const uint64_t begin = number_at(bytes, 4 + 4 * i), end = number_at(bytes, 8 + 4 * i);
    if (begin < head || end < begin || end > file_bytes)
      throw damaged("its sample " + std::to_string(i) + " lies beyond it");
    index.add_row(begin, end - begin);
    content.add_number(end);
  }
  index.content = content.digits();
  reader.skip(file_bytes);
  return index;
}

Result<store::Packing::Piece> MdsRows::find(std::span<const uint8_t> holder, uint32_t packed) const {
  const Error damaged{Trouble::kContent, "the sample's columns have other sizes than the sample: it is damaged"};
  uint64_t head = 0;
  for (const MdsColumn& column : columns_) head += column.size ? 0 : 4;
  if (head > holder.size()) return damaged;
  uint64_t at = head, size_at = 0;
  std::span<const uint8_t> found;
  for (size_t i = 0; i < columns_.size(); ++i) {
    uint64_t size = 0;
    if (columns_[i].size) {
      size = *columns_[i].size;
    } else {
      size = number_at(holder, size_at);
      size_at += 4;
    }
    if (size > holder.size() - at) return damaged;
    if (i == packed) found = holder.subspan(static_cast<size_t>(at), static_cast<size_t>(size));
    at += size;
  }
  if (at != holder.size()) return damaged;
  const auto array = open_array_of(columns_[packed].encoding);
  if (!array) return Piece{found, found.size(), 0};
  const Result<ArrayValue> value = array_in(found, *array);
  if (!value) return value.error();
  return Piece{found, array::npy_start_of(value->dtype, value->shape).size() + value->elements.size(), packed + 1};
}

// The form is one more than the column of an array, which becomes a .npy file.
Result<uint64_t> MdsRows::unpack(const Piece& piece, uint8_t* to) const {
  if (piece.form == 0) return Packing::unpack(piece, to);
  const Result<ArrayValue> value = array_in(piece.bytes, *open_array_of(columns_[piece.form - 1].encoding));
  if (!value) return value.error();
  const std::string start = array::npy_start_of(value->dtype, value->shape);
  to = std::copy(start.begin(), start.end(), to);
  std::copy(value->elements.begin(), value->elements.end(), to);
  return uint64_t{start.size() + value->elements.size()};
}

}  // namespace spdld::source
