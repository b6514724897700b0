// A comparison of a column with values, as a condition (condition.h) has it: what it says of one row, and what it can
// say of many rows that are known by their least and their most value alone. Plain values; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spdld::config {

// The answer of a condition for a row. As in SQL, a comparison with a value that is not there is neither true nor
// false.
enum class Truth : uint8_t { kFalse = 1, kTrue = 2, kUnknown = 4 };
// The answers that a condition may give for rows: a bit for each Truth. A single row has one bit.
using Truths = uint8_t;
constexpr Truths only(Truth truth) { return static_cast<Truths>(truth); }
constexpr bool may_be(Truths truths, Truth truth) { return (truths & only(truth)) != 0; }

// Holds every integer of 64 bits and every double, so that no comparison rounds.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);
// The number that the whole text is, maybe behind a "+".
std::optional<Number> number_in(std::string_view text);

enum class ValueKind : uint8_t { kFlag, kNumber, kText };
using ConditionValue = std::variant<bool, Number, std::string>;  // the alternative of number k has kind k
// A row's value in a column; monostate: it has none. The text is borrowed.
using Cell = std::variant<std::monostate, bool, Number, std::string_view>;

// Bounds on the values of many rows in a column.
struct Extent {
  std::optional<std::pair<ConditionValue, ConditionValue>> bounds = {};  // no value is less than the first one, or more
                                                                         // than the second one; NaN is no value here
  bool has_nulls = true, has_values = true;                              // false: certainly not
  bool has_nan = false;
};

enum class Relation : uint8_t { kEqual, kUnequal, kLess, kAtMost, kMore, kAtLeast, kAmong, kIsNull };

struct Comparison {
  size_t column = 0;  // a place in Condition::columns()
  Relation relation = Relation::kEqual;
  std::vector<ConditionValue> values = {};  // of kAmong sorted, all of one kind; of kIsNull none; of others one

  bool has_values() const { return relation != Relation::kIsNull; }
  ValueKind kind() const { return static_cast<ValueKind>(values.front().index()); }  // precondition: has_values()
  // Precondition: the cell has the values' kind, or none.
  Truths of(const Cell& cell) const;
  Truths of(const Extent& extent) const;
};

std::string_view words_of(ValueKind kind);  // "a number"
// For people: 'cat', 224, true.
std::string text_of(const ConditionValue& value);

}  // namespace spdld::config
