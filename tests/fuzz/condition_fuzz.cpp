// Feeds arbitrary texts to the reader of conditions, and asks what it has read of a row and of many rows: what is said
// of many rows must hold for each of them. "text NUL values": the bytes behind the text choose the values.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/condition/condition.h"

namespace {

using namespace spdld::config;

void require(bool holds) {
  if (!holds) std::abort();
}

// One of the values that the comparison names, or a value of its kind beside it, or none.
Cell cell_for(const Comparison& comparison, uint8_t byte) {
  if (!comparison.has_values()) return byte % 3 == 0 ? Cell() : Cell(true);
  if (byte % 4 == 0) return {};
  const ConditionValue& value = comparison.values[byte % comparison.values.size()];
  if (const auto* number = std::get_if<Number>(&value)) return *number + static_cast<Number>(byte % 3) - 1;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag != (byte % 3 == 0);
  const std::string& text = std::get<std::string>(value);
  return std::string_view(text).substr(0, byte % 3 == 0 ? text.size() / 2 : text.size());
}

// What is known of this one value.
Extent extent_of(const Cell& cell) {
  Extent extent;
  extent.has_nulls = std::holds_alternative<std::monostate>(cell);
  extent.has_values = !extent.has_nulls;
  if (const auto* number = std::get_if<Number>(&cell)) extent.bounds.emplace(*number, *number);
  if (const auto* flag = std::get_if<bool>(&cell)) extent.bounds.emplace(*flag, *flag);
  if (const auto* text = std::get_if<std::string_view>(&cell))
    extent.bounds.emplace(std::string(*text), std::string(*text));
  return extent;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  const std::string text(all.substr(0, all.find('\0')));
  const std::string_view chosen = all.substr(std::min(all.size(), text.size() + 1));
  const ParsedCondition parsed = parse_condition(text);
  require(parsed.condition.has_value() == parsed.error.empty());
  if (!parsed.condition) return 0;
  const Condition& condition = *parsed.condition;
  require(condition.columns().size() <= kConditionColumnsMax);
  for (const Comparison& comparison : condition.comparisons()) require(comparison.column < condition.columns().size());
  size_t next = 0;
  std::vector<Cell> cells;
  for (const Comparison& comparison : condition.comparisons())
    cells.push_back(cell_for(comparison, next < chosen.size() ? static_cast<uint8_t>(chosen[next++]) : uint8_t{7}));
  const auto place = [&](const Comparison& one) { return static_cast<size_t>(&one - condition.comparisons().data()); };
  const Truths row = condition.truths([&](const Comparison& one) { return one.of(cells[place(one)]); });
  const Truths rows = condition.truths([&](const Comparison& one) { return one.of(extent_of(cells[place(one)])); });
  require(row == only(Truth::kFalse) || row == only(Truth::kTrue) || row == only(Truth::kUnknown));
  require((rows & row) != 0);
  const Extent unknown;
  require((condition.truths([&](const Comparison& one) { return one.of(unknown); }) & row) != 0);
  return 0;
}
