// A condition on the rows of a table, as `where` of a source has it:
//
//   split == 'train' and (width >= 224 or label in ('cat', 'dog')) and not `is drawn` == true and text is not null
//
// Comparisons of a column with a value, `in` and `not in` with a list of values, and `is null` and `is not null` are
// put together by `and`, `or`, `not` and brackets. The text comes from outside: its size and its depth are bounded.
// Values; constant once they are made, any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/condition/comparison.h"

namespace spdld::config {

inline constexpr size_t kConditionBytesMax = 256 << 10;
inline constexpr int kConditionDepthMax = 32;  // of brackets and of `not` in one another
inline constexpr size_t kConditionColumnsMax = 64;

class Condition {
 public:
  struct Node {
    enum class Connective : uint8_t { kAll, kAny, kNot, kComparison };
    Connective connective = Connective::kComparison;
    size_t comparison = 0;         // of kComparison: a place in the comparisons
    std::vector<Node> parts = {};  // of others: one or more
  };

  Condition(std::vector<std::string> columns, std::vector<Comparison> comparisons, Node root)
      : columns_(std::move(columns)), comparisons_(std::move(comparisons)), root_(std::move(root)) {}

  std::span<const std::string> columns() const { return columns_; }  // each once, in the order in which they appear
  std::span<const Comparison> comparisons() const { return comparisons_; }

  // The condition's answers, where judge(comparison) gives the answers of each comparison. Comparisons are asked for
  // from the left to the right, and only as far as they count.
  template <typename Judge>
  Truths truths(const Judge& judge) const {
    return truths_of(root_, judge);
  }
  template <typename Judge>
  bool takes(const Judge& judge) const {
    return truths(judge) == only(Truth::kTrue);
  }

  // The values that this column's numbers are compared with become round(value).
  template <typename Round>
  void round_numbers(size_t column, const Round& round) {
    for (Comparison& comparison : comparisons_) {
      if (comparison.column != column) continue;
      for (ConditionValue& value : comparison.values)
        if (auto* number = std::get_if<Number>(&value)) *number = round(*number);
    }
  }

 private:
  template <typename Judge>
  Truths truths_of(const Node& node, const Judge& judge) const {
    if (node.connective == Node::Connective::kComparison) return judge(comparisons_[node.comparison]);
    Truths truths = truths_of(node.parts.front(), judge);
    if (node.connective == Node::Connective::kNot) return opposite_of(truths);
    const bool all = node.connective == Node::Connective::kAll;
    for (size_t i = 1; i < node.parts.size(); ++i) {
      if (truths == only(all ? Truth::kFalse : Truth::kTrue)) break;
      const Truths other = truths_of(node.parts[i], judge);
      truths = all ? both(truths, other) : opposite_of(both(opposite_of(truths), opposite_of(other)));
    }
    return truths;
  }
  static Truths opposite_of(Truths truths);
  static Truths both(Truths a, Truths b);

  std::vector<std::string> columns_;
  std::vector<Comparison> comparisons_;
  Node root_;
};

struct ParsedCondition {
  std::optional<Condition> condition = {};
  std::string error = {};  // without a condition: what is wrong with the text, as the end of a sentence about it
};
ParsedCondition parse_condition(std::string_view text);
// Of a text that was checked before; empty: none. Throws std::logic_error for another text.
std::optional<Condition> checked_condition(std::string_view text);

}  // namespace spdld::config
