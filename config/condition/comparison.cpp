#include "config/condition/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace spdld::config {
namespace {

constexpr Truths kFalse = only(Truth::kFalse), kTrue = only(Truth::kTrue), kUnknown = only(Truth::kUnknown);

bool is_less(const ConditionValue& a, const ConditionValue& b) { return a < b; }
bool is_less(const Cell& a, const ConditionValue& b) {
  if (const auto* text = std::get_if<std::string>(&b)) return std::get<std::string_view>(a) < *text;
  if (const auto* number = std::get_if<Number>(&b)) return std::get<Number>(a) < *number;
  return !std::get<bool>(a) && std::get<bool>(b);
}
bool is_same(const Cell& a, const ConditionValue& b) {
  if (const auto* text = std::get_if<std::string>(&b)) return std::get<std::string_view>(a) == *text;
  if (const auto* number = std::get_if<Number>(&b)) return std::get<Number>(a) == *number;
  return std::get<bool>(a) == std::get<bool>(b);
}
bool is_nan(const Cell& cell) { return std::holds_alternative<Number>(cell) && std::isnan(std::get<Number>(cell)); }

bool is_among(const Cell& cell, const std::vector<ConditionValue>& values) {
  const auto least = std::partition_point(values.begin(), values.end(), [&](const ConditionValue& value) {
    return !is_less(cell, value) && !is_same(cell, value);
  });
  return least != values.end() && is_same(cell, *least);
}

// Says the same of one or more values between two bounds. NaN is not among them.
Truths of_bounds(const Comparison& comparison, const ConditionValue& least, const ConditionValue& most) {
  const auto truths = [](bool may_hold, bool may_fail) {
    return static_cast<Truths>((may_hold ? kTrue : 0) | (may_fail ? kFalse : 0));
  };
  const ConditionValue& value = comparison.values.front();
  const auto lies_within = [&](const ConditionValue& one) { return !is_less(one, least) && !is_less(most, one); };
  const bool is_one = !is_less(least, most);
  switch (comparison.relation) {
    case Relation::kLess:
      return truths(is_less(least, value), !is_less(most, value));
    case Relation::kAtMost:
      return truths(!is_less(value, least), is_less(value, most));
    case Relation::kMore:
      return truths(is_less(value, most), !is_less(value, least));
    case Relation::kAtLeast:
      return truths(!is_less(most, value), is_less(least, value));
    case Relation::kUnequal:
      return truths(!is_one || !lies_within(value), lies_within(value));
    case Relation::kEqual:
    case Relation::kAmong:
    case Relation::kIsNull:
      break;
  }
  const bool may_hold = std::any_of(comparison.values.begin(), comparison.values.end(), lies_within);
  return truths(may_hold, !is_one || !may_hold);
}

}  // namespace

std::optional<Number> number_in(std::string_view text) {
  const auto read = [&](auto number) -> std::optional<Number> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Number(number);
  };
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  if (const auto whole = read(int64_t{})) return whole;
  if (const auto large = read(uint64_t{})) return large;
  return read(double{});
}

Truths Comparison::of(const Cell& cell) const {
  const auto told = [](bool holds) { return holds ? kTrue : kFalse; };
  const bool is_null = std::holds_alternative<std::monostate>(cell);
  if (relation == Relation::kIsNull) return told(is_null);
  if (is_null) return kUnknown;
  if (is_nan(cell)) return told(relation == Relation::kUnequal);  // NaN is neither less nor more than a number
  const ConditionValue& value = values.front();
  switch (relation) {
    case Relation::kEqual:
      return told(is_same(cell, value));
    case Relation::kUnequal:
      return told(!is_same(cell, value));
    case Relation::kLess:
      return told(is_less(cell, value));
    case Relation::kAtMost:
      return told(is_less(cell, value) || is_same(cell, value));
    case Relation::kMore:
      return told(!is_less(cell, value) && !is_same(cell, value));
    case Relation::kAtLeast:
      return told(!is_less(cell, value));
    case Relation::kAmong:
    case Relation::kIsNull:
      break;
  }
  return told(is_among(cell, values));
}

Truths Comparison::of(const Extent& extent) const {
  if (relation == Relation::kIsNull)
    return static_cast<Truths>((extent.has_nulls ? kTrue : 0) | (extent.has_values ? kFalse : 0));
  Truths truths = extent.has_nulls ? kUnknown : 0;
  if (!extent.has_values) return truths;
  if (extent.has_nan) truths |= relation == Relation::kUnequal ? kTrue : kFalse;
  const bool is_known = extent.bounds && extent.bounds->first.index() == values.front().index() &&
                        extent.bounds->second.index() == values.front().index();
  truths |= is_known ? of_bounds(*this, extent.bounds->first, extent.bounds->second) : Truths{kTrue | kFalse};
  return truths;
}

std::string_view words_of(ValueKind kind) {
  return kind == ValueKind::kFlag ? "a truth value" : kind == ValueKind::kNumber ? "a number" : "a text";
}

std::string text_of(const ConditionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return '\'' + *text + '\'';
  char text[64];
  std::snprintf(text, sizeof text, "%.20Lg", std::get<Number>(value));
  return text;
}

}  // namespace spdld::config
