// The type of a value that the user's own code gives for a sample: bytes, or a tensor of a type and a shape. Plain
// values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
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
// Why no value has such a shape, as the end of a complaint about it; empty: values may have it.
std::string misfit(const std::vector<int64_t>& shape);

}  // namespace spdld::config
