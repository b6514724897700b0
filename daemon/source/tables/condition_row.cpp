#include "daemon/source/tables/condition_row.h"

#include <algorithm>

#include "config/text/words.h"
#include "daemon/base/result.h"

namespace spdld::source {
namespace {

using config::Cell;
using config::Comparison;
using config::Number;
using config::number_in;
using config::ValueKind;

std::optional<bool> flag_in(std::string_view text) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0") return false;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

std::string_view words_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kText:
      return "a text";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kFlag:
      return "a truth value";
    case JsonKind::kList:
      return "a list";
    case JsonKind::kTable:
      return "a table";
  }
  return "";
}

JsonKind json_kind_of(ValueKind kind) {
  return kind == ValueKind::kFlag ? JsonKind::kFlag : kind == ValueKind::kNumber ? JsonKind::kNumber : JsonKind::kText;
}

}  // namespace

bool ConditionRow::is_taken(uint64_t row) {
  return condition_.takes([&](const Comparison& comparison) { return comparison.of(cell_of(comparison, row)); });
}

Cell ConditionRow::cell_of(const Comparison& comparison, uint64_t row) {
  const auto& held = values_[comparison.column];
  if (!held || held->kind == JsonKind::kNull) return {};
  if (held->is_csv) return csv_cell_of(comparison, row);
  if (!comparison.has_values()) return true;  // something is there
  if (held->kind != json_kind_of(comparison.kind())) refuse(comparison, row, words_of(held->kind));
  if (held->kind == JsonKind::kFlag) return held->text == "true";
  if (held->kind == JsonKind::kNumber) {
    const auto number = number_in(held->text);
    if (!number) refuse(comparison, row, config::printable(held->text, 40));
    return *number;
  }
  read_text(*held, comparison, row);
  return std::string_view(text_);
}

Cell ConditionRow::csv_cell_of(const Comparison& comparison, uint64_t row) {
  const Held& held = *values_[comparison.column];
  if (!comparison.has_values()) return held.text.empty() ? Cell() : Cell(true);
  read_text(held, comparison, row);
  if (comparison.kind() == ValueKind::kText) return std::string_view(text_);
  const std::string_view text = trimmed(text_);
  if (text.empty()) return {};
  if (comparison.kind() == ValueKind::kFlag) {
    const auto flag = flag_in(text);
    if (!flag) refuse(comparison, row, '"' + config::printable(text, 40) + '"');
    return *flag;
  }
  const auto number = number_in(text);
  if (!number) refuse(comparison, row, '"' + config::printable(text, 40) + '"');
  return *number;
}

void ConditionRow::read_text(const Held& held, const Comparison& comparison, uint64_t row) {
  if (!held.is_csv) {
    auto text = plain_text({held.kind, held.text, held.is_escaped});
    if (!text) refuse(comparison, row, "a text with an escape that JSON has not");
    text_ = std::move(*text);
    return;
  }
  text_.assign(held.text);
  if (held.is_escaped) text_.resize(plain_csv({held.text, true}, reinterpret_cast<uint8_t*>(text_.data())));
}

void ConditionRow::refuse(const Comparison& comparison, uint64_t row, std::string_view has) const {
  const bool is_text = comparison.has_values() && comparison.kind() == ValueKind::kText;
  throw SetupError(
      Trouble::kUsage,
      path_ + ", row " + std::to_string(row) + ": the column \"" +
          config::printable(condition_.columns()[comparison.column]) + "\" has " + std::string(has) +
          (comparison.has_values()
               ? ", and source.where compares it with " + std::string(config::words_of(comparison.kind())) + " (" +
                     config::printable(config::text_of(comparison.values.front()), 40) + ')' +
                     (is_text ? "." : ": to compare texts, write the value in quotes.")
               : "."));
}

}  // namespace spdld::source
