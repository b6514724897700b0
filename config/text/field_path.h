// An output's `from` names a field of the sample, several fields in order of preference ("jpg;jpeg;png": the first
// field that the sample has counts), or a value in a field that holds JSON ("json:meta.label", "json:boxes[0].id",
// "meta.json:[\"a.b\"]"). The text comes from outside: its size and steps are bounded. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::config {

inline constexpr size_t kFieldAlternativesMax = 16;
inline constexpr size_t kFieldNameBytesMax = 128;
inline constexpr size_t kFieldPathBytesMax = 512;
inline constexpr size_t kJsonStepsMax = 16;
inline constexpr uint32_t kJsonIndexMax = 999'999;

// A step from a JSON value to a value inside it: in a table to the entry of this name, in a list to the element of this
// number.
struct JsonStep {
  std::string key;
  uint32_t index = 0;
  bool is_index = false;

  bool operator==(const JsonStep&) const = default;
};

struct FieldPath {
  std::vector<std::string> alternatives;  // names of fields: one or more, no name twice
  std::vector<JsonStep> steps;            // empty: the field itself is meant
  std::string error;                      // not empty: what is wrong with the text, as the end of a sentence about it

  // The alternatives as one name: "jpg;jpeg;png".
  std::string field() const;
  bool is_json() const { return !steps.empty(); }
};
FieldPath parse_field_path(std::string_view text);

// The steps as they are written: "boxes[0].id".
std::string steps_text(const std::vector<JsonStep>& steps);

}  // namespace spdld::config
