// A parameter of an operation, of a source or of a table of a file: its name, type, bounds and help. The checks of
// config/checks/load.h, `spdlctl ops` and the documentation all read it. Constant data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

// kNames (names separated by commas, or a list of texts without commas) arrives as one text with commas between the
// names. kSize: an integer of bytes, or a text such as "8 GiB". It arrives as int64_t. Operations alone have a kPath,
// which is a path or a file:// uri, from the folder of the pipeline's file on. It arrives as a plain absolute path. A
// kValueType is "bytes", or a table with a tensor's dtype and shape. It arrives as the text of
// config/text/value_type.h, and a kValueTypes, a table with a kValueType for each name, as the text of several of them.
// Two are no Values: kTexts (a list of texts), which neither sources nor operations have, and
// kOperations (a list of operations), which arrives as OperationSpec::ops. Nor is a kTable, which has keys of its own.
enum class ParameterType : uint8_t {
  kFlag,
  kInteger,
  kNumber,
  kText,
  kNumbers,
  kChoice,
  kSize,
  kTexts,
  kNames,
  kPath,
  kValueType,
  kValueTypes,
  kOperations,
  kTable
};
std::string_view type_name(ParameterType type);  // "flag", "integer"
inline bool is_value(ParameterType type) {
  return type != ParameterType::kTexts && type != ParameterType::kOperations && type != ParameterType::kTable;
}
struct Parameter {
  std::string_view name;
  ParameterType type;
  std::string_view help;
  std::optional<Value> fallback = {};  // none: the parameter must be given
  double min = 0, max = 0;             // of a number, or of each number of a list; min == max: unbounded
  int count_min = 0, count_max = 0;    // of a list: how many numbers (a bare number counts as one) or operations
  std::vector<std::string_view> choices = {};  // of a kChoice; of a kFlag: texts that may stand there instead
  bool whole = false;                          // of a kNumbers: each must be a whole number
  bool above_min = false;                      // min itself is not allowed
  std::string_view word = {};  // of a kInteger, kNumber or kSize: a text that may stand there instead ("auto")
  bool paces = false;          // says how the work is divided, and not what comes of it
};

// Whether a value of an operation decides which bytes come out. Of a path, the content of its files decides, and a size
// bounds memory.
inline bool decides(const Parameter& parameter) {
  return parameter.type != ParameterType::kPath && parameter.type != ParameterType::kSize && !parameter.paces;
}

// Says which values the parameter may have, for complaints and help: "one or two whole numbers from 1 to 16384".
std::string allowed(const Parameter& parameter);

// The names in the text that a kNames arrives as.
std::vector<std::string> names_in(std::string_view text);

}  // namespace spdld::config
