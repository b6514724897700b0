#include "daemon/source/parquet/condition_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "config/text/words.h"
#include "daemon/source/parquet/chunk_values.h"
#include "daemon/source/parts.h"

namespace spdld::source::parquet {
namespace {

using config::Cell;
using config::Comparison;
using config::DType;
using config::Number;
using config::Truth;
using config::ValueKind;

template <typename T>
T value_in(std::span<const uint8_t> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

Number half_in(std::span<const uint8_t> bytes) {
  const auto bits = value_in<uint16_t>(bytes);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const Number sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<Number>::quiet_NaN() : sign * HUGE_VALL;
  if (exponent == 0) return sign * std::ldexp(Number(fraction), -24);
  return sign * std::ldexp(Number(fraction + 1024), exponent - 25);
}

Number number_in(DType dtype, std::span<const uint8_t> bytes) {
  switch (dtype) {
    case DType::kInt8:
      return value_in<int8_t>(bytes);
    case DType::kUint8:
      return value_in<uint8_t>(bytes);
    case DType::kInt16:
      return value_in<int16_t>(bytes);
    case DType::kUint16:
      return value_in<uint16_t>(bytes);
    case DType::kInt32:
      return Number(value_in<int32_t>(bytes));
    case DType::kUint32:
      return Number(value_in<uint32_t>(bytes));
    case DType::kInt64:
      return Number(value_in<int64_t>(bytes));
    case DType::kUint64:
      return Number(value_in<uint64_t>(bytes));
    case DType::kFloat16:
      return half_in(bytes);
    case DType::kFloat32:
      return value_in<float>(bytes);
    default:
      return value_in<double>(bytes);
  }
}

ValueKind kind_of(const Column& column) {
  if (!column.is_numeric()) return ValueKind::kText;
  return column.conversion == Conversion::kBool ? ValueKind::kFlag : ValueKind::kNumber;
}

Cell cell_of(const Column& column, const ColumnValues& values, uint64_t row) {
  if (values.is_null(row) || values.is_beyond(row)) return {};
  const std::span<const uint8_t> bytes = values[row];
  switch (kind_of(column)) {
    case ValueKind::kFlag:
      return bytes.front() != 0;
    case ValueKind::kNumber:
      return number_in(column.dtype, bytes);
    case ValueKind::kText:
      break;
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A column's type in words: "int64 numbers".
std::string type_of(const Column& column) {
  if (column.is_list()) return "lists";
  if (!column.is_numeric()) return "texts or binary values";
  if (column.conversion == Conversion::kBool) return "truth values";
  return std::string(config::dtype_name(column.dtype)) + " numbers";
}

class ConditionRows {
 public:
  ConditionRows(Footer& footer, store::View& view, const std::string& name, const config::Condition& condition,
                uint64_t bytes_max)
      : footer_(footer), view_(view), name_(name), condition_(condition), bytes_max_(bytes_max) {
    for (const std::string& wanted : condition_.columns()) {
      const auto& columns = footer_.columns;
      const auto found =
          std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == wanted; });
      places_.push_back(found == columns.end() ? std::nullopt
                                               : std::optional(static_cast<size_t>(found - columns.begin())));
    }
    check_types();
    round_numbers();
  }

  void run(const Statistics& statistics, const std::stop_token& stop) {
    check_rows(footer_, name_, "source.where");
    uint64_t first = 0;
    for (size_t group = 0; group < footer_.group_rows.size(); ++group) {
      check_stop(stop);
      const uint64_t rows = footer_.group_rows[group];
      const config::Extent* const extents = statistics.extents.data() + group * places_.size();
      const config::Truths told = condition_.truths([&](const Comparison& one) { return one.of(extents[one.column]); });
      if (!config::may_be(told, Truth::kTrue)) footer_.untaken.add_all(first, first + rows);
      if (!config::may_be(told, Truth::kTrue) || told == config::only(Truth::kTrue))
        ++footer_.groups_spared;
      else
        look_at(group, first);
      first += rows;
    }
  }

 private:
  void check_types() const {
    for (const Comparison& comparison : condition_.comparisons()) {
      const auto place = places_[comparison.column];
      if (!place) continue;
      const Column& column = footer_.columns[*place];
      const bool fits = !column.is_list() && (!comparison.has_values() || comparison.kind() == kind_of(column));
      if (fits) continue;
      const std::string what = comparison.has_values()
                                   ? std::string(config::words_of(comparison.kind())) + " (" +
                                         config::printable(config::text_of(comparison.values.front()), 40) + ')'
                                   : "null";
      throw SetupError(Trouble::kUsage, name_ + ": the column \"" + config::printable(column.name) + "\" has " +
                                            type_of(column) + ", and source.where compares it with " + what +
                                            (column.is_list() ? ": a list can't be compared." : "."));
    }
  }

  // A column of less precision can't hold a number such as 0.1: its own nearest number is compared.
  void round_numbers() {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i]) continue;
      const DType dtype = footer_.columns[*places_[i]].dtype;
      if (footer_.columns[*places_[i]].is_numeric() && dtype == DType::kFloat32)
        condition_.round_numbers(i, [](Number number) { return Number(static_cast<float>(number)); });
    }
  }

  // Reads the condition's columns of a row group whose first row is `first`.
  void look_at(size_t group, uint64_t first) {
    const uint64_t rows = footer_.group_rows[group];
    std::vector<std::optional<ColumnValues>> values(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i]) continue;
      Result<ColumnValues> read = chunk_values(view_, {name_, footer_, group, *places_[i], bytes_max_});
      if (!read) {
        footer_.lost.push_back(name_ + ", row group " + std::to_string(group) + ", column " +
                               footer_.columns[*places_[i]].name + ": " + read.error().message +
                               ", so source.where can't be told: its " + std::to_string(rows) + " rows are left out.");
        footer_.untaken.add_all(first, first + rows);
        return;
      }
      values[i] = std::move(*read);
    }
    for (uint64_t row = 0; row < rows; ++row) {
      const bool is_taken = condition_.takes([&](const Comparison& one) {
        const auto& column = values[one.column];
        return one.of(column ? cell_of(footer_.columns[*places_[one.column]], *column, row) : Cell());
      });
      if (!is_taken) footer_.untaken.add(first + row);
    }
  }

  Footer& footer_;
  store::View& view_;
  const std::string& name_;
  config::Condition condition_;
  const uint64_t bytes_max_;
  std::vector<std::optional<size_t>> places_;  // by the condition's column: its place in the file
};

}  // namespace

Footer read_footer_and_rows(store::View& view, const std::string& name, const config::Condition& condition,
                            uint64_t bytes_max, const std::stop_token& stop) {
  const std::vector<std::string> columns(condition.columns().begin(), condition.columns().end());
  Statistics statistics{columns};
  Footer footer = read_footer(view, name, &statistics);
  ConditionRows(footer, view, name, condition, bytes_max).run(statistics, stop);
  return footer;
}

}  // namespace spdld::source::parquet
