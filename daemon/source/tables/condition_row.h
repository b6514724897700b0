// A row of a manifest as a condition (config/condition) sees it. One thread; the row's text is borrowed.
//
// In JSON lines a value has a kind, which must be the kind of what it is compared with. In CSV every value is a text:
// beside a number or a truth value it is read as one, and an empty value is none there, as for `is null`; beside a text
// it is a text, also an empty one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/condition/condition.h"
#include "daemon/source/tables/reading/csv.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {

class ConditionRow {
 public:
  // `path`: of the file, for sentences. Both are borrowed.
  ConditionRow(const config::Condition& condition, const std::string& path)
      : condition_(condition), path_(path), values_(condition.columns().size()) {}

  void clear() { values_.assign(values_.size(), std::nullopt); }
  // `column`: a place in Condition::columns().
  void take(size_t column, const CsvValue& value) {
    values_[column] = Held{JsonKind::kText, value.text, value.has_doubled_quotes, true};
  }
  void take(size_t column, const JsonValue& value) {
    values_[column] = Held{value.kind, value.text, value.has_escapes, false};
  }
  // Throws SetupError, with the number of the row, where a value can't be compared.
  bool is_taken(uint64_t row);

 private:
  struct Held {
    JsonKind kind;
    std::string_view text;
    bool is_escaped;  // CSV's doubled quotes, or JSON's escapes
    bool is_csv;
  };

  config::Cell cell_of(const config::Comparison& comparison, uint64_t row);
  config::Cell csv_cell_of(const config::Comparison& comparison, uint64_t row);
  void read_text(const Held& held, const config::Comparison& comparison, uint64_t row);
  [[noreturn]] void refuse(const config::Comparison& comparison, uint64_t row, std::string_view has) const;

  const config::Condition& condition_;
  const std::string& path_;
  std::vector<std::optional<Held>> values_;  // by column
  std::string text_;                         // of the value that is compared
};

}  // namespace spdld::source
