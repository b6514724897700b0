// The one table of operations and the one table of sources: their names, parameters, bounds and help. The checks of
// config/load.h, `spdlctl ops` and the documentation all read it; the daemon binds each name to code (a test holds the
// two together). Constant data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

// kSize (an integer of bytes, or a text such as "8 GiB"; arrives as int64_t) and kTexts (a list of texts, not a Value)
// occur in the daemon's file alone.
enum class ParameterType : uint8_t { kFlag, kInteger, kNumber, kText, kNumbers, kChoice, kSize, kTexts };

struct Parameter {
  std::string_view name;
  ParameterType type;
  std::string_view help;
  std::optional<Value> fallback = {};          // none: the parameter must be given
  double min = 0, max = 0;                     // of a number, or of each number of a list; min == max: unbounded
  int count_min = 0, count_max = 0;            // of a list: how many numbers (a bare number counts as one)
  std::vector<std::string_view> choices = {};  // of a kChoice; of a kFlag: texts that may stand there instead
  bool whole = false;                          // of a kNumbers: each must be a whole number
  bool above_min = false;                      // min itself is not allowed
  std::string_view word = {};  // of a kInteger, kNumber or kSize: a text that may stand there instead ("auto")
};

// Says which values the parameter may have, for complaints and help: "one or two whole numbers from 1 to 16384".
std::string allowed(const Parameter& parameter);

// The kinds of values that pass from one operation to the next. An output's chain must start at the kind that its field
// gives, and end in kTensor or kInteger.
enum class Flow : uint8_t { kBytes, kImage, kInteger, kTensor };

struct Operation {
  std::string_view name;
  Flow in, out;
  std::string_view help;
  std::vector<Parameter> parameters;
};

struct SourceType {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> fields;  // fields that every sample has; empty where the data decides (webdataset)
  std::vector<Parameter> parameters;
};

std::span<const Operation> operations();
std::span<const SourceType> sources();
const Operation* find_operation(std::string_view name);
const SourceType* find_source(std::string_view name);

// The field that the samples of a mix have in addition: the number of their source, in the file's order. Every sample
// of a single source would have 0.
inline constexpr std::string_view kSourceField = "source";

// The kind of value that a source's field gives: kInteger for image-folder's class, kBytes for all others (`path` is
// the sample's name). A JSON value counts as bytes: its text.
Flow field_flow(const SourceType& source, std::string_view field);
std::string_view flow_name(Flow flow);  // "bytes", "image", "integer", "tensor"

// The tables as text for people (`spdlctl ops`) and as JSON.
std::string operations_text();
std::string operations_json();

}  // namespace spdld::config
