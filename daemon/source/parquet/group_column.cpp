#include "daemon/source/parquet/group_column.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/parquet/chunk_values.h"
#include "daemon/source/parts.h"

namespace spdld::source::parquet {
namespace {

using config::DType;

template <typename T>
std::string digits_of(std::span<const uint8_t> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return std::to_string(value);
}

using TextOf = std::string (*)(std::span<const uint8_t>);

std::string text_as_it_is(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
std::string text_of_flag(std::span<const uint8_t> bytes) { return bytes.front() != 0 ? "true" : "false"; }

// How a value of the column is written; nullptr: it names no group.
TextOf text_of(const Column& column) {
  if (column.is_list()) return nullptr;
  if (column.conversion == Conversion::kBytes) return &text_as_it_is;
  if (column.conversion == Conversion::kBool) return &text_of_flag;
  switch (column.dtype) {
    case DType::kInt8:
      return &digits_of<int8_t>;
    case DType::kUint8:
      return &digits_of<uint8_t>;
    case DType::kInt16:
      return &digits_of<int16_t>;
    case DType::kUint16:
      return &digits_of<uint16_t>;
    case DType::kInt32:
      return &digits_of<int32_t>;
    case DType::kUint32:
      return &digits_of<uint32_t>;
    case DType::kInt64:
      return &digits_of<int64_t>;
    case DType::kUint64:
      return &digits_of<uint64_t>;
    default:
      return nullptr;
  }
}

size_t place_of(const Footer& footer, const std::string& name, const std::string& wanted) {
  const auto has_name = [&](const Column& column) { return column.name == wanted; };
  const auto found = std::find_if(footer.columns.begin(), footer.columns.end(), has_name);
  if (found == footer.columns.end())
    throw SetupError(Trouble::kUsage,
                     name + " has no column \"" + config::printable(wanted) + "\", which part.groups_column names.");
  return static_cast<size_t>(found - footer.columns.begin());
}

}  // namespace

void read_group_column(store::View& view, const std::string& name, const std::string& column, uint64_t bytes_max,
                       const std::stop_token& stop, Footer& footer) {
  check_rows(footer, name, "part.groups_column");
  const size_t place = place_of(footer, name, column);
  const std::string what = name + ": the column \"" + config::printable(column) + "\"";
  const TextOf written = text_of(footer.columns[place]);
  if (written == nullptr)
    throw SetupError(Trouble::kUsage,
                     what + " has neither texts nor whole numbers: it can't name the groups of part.groups_column.");
  for (size_t group = 0; group < footer.group_rows.size(); ++group) {
    check_stop(stop);
    const Result<ColumnValues> values = chunk_values(view, {name, footer, group, place, bytes_max});
    if (!values || values->rows() != footer.group_rows[group])
      throw SetupError(Trouble::kContent, what + ", row group " + std::to_string(group) + ": " +
                                              (values ? "it has another number of rows" : values.error().message) +
                                              ", so part.groups can't be told.");
    for (uint64_t row = 0; row < values->rows(); ++row) {
      const bool has_value = !values->is_null(row) && !values->is_beyond(row);
      const std::string text = has_value ? written((*values)[row]) : std::string();
      if (text.find('\0') != std::string::npos)
        throw SetupError(Trouble::kUsage, what + " has a text with a NUL, which can't name a group.");
      footer.groups.add(text);
    }
  }
  footer.groups.fit();
}

}  // namespace spdld::source::parquet
