// The type of a value that the user's own code gives for a sample: bytes, or a tensor of a type and a shape. Plain
// values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/dtype.h"

namespace spdld::config {

inline constexpr int kValueDimensionsMax = 7;  // a batch has one more
inline constexpr int64_t kValueElementsMax = 1 << 28;

struct ValueType {
  std::optional<DType> dtype = {};  // of a tensor; none: it is bytes
  std::vector<int64_t> shape = {};  // of a tensor; -1: the dimension differs from sample to sample
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// "bytes", "uint8 [224, 224, 3]", "int64 []"
std::string value_type_text(const ValueType& type);
// The way back. None: the text is no such type, or one that misfit() does not let through.
std::optional<ValueType> value_type_in(std::string_view text);

// A value among several, by its name: of up to 64 letters, digits and these marks.
inline constexpr std::string_view kNameMarks = "_.-";
struct NamedValueType {
  std::string name;
  ValueType type;
  friend bool operator==(const NamedValueType&, const NamedValueType&) = default;
};

// "image uint8 [224, 224, 3]; label int64 []; text bytes"
std::string value_types_text(std::span<const NamedValueType> types);
// The way back, in the order of their names. None: the text is no such list, or has a name twice.
std::optional<std::vector<NamedValueType>> value_types_in(std::string_view text);
// Why no value has such a shape, as the end of a complaint about it; empty: values may have it.
std::string misfit(const std::vector<int64_t>& shape);

}  // namespace spdld::config
