// Fields whose values are whole .npy files, each with a shape of its own, among the RawValues that sources tell. Pure.
#pragma once

#include <optional>
#include <vector>

#include "config/signature.h"

namespace spdld::config {

// No shape of numbers has a size below zero.
inline RawValues npy_values(std::optional<DType> dtype) { return {.dtype = dtype, .shape = std::vector<int64_t>{-1}}; }
inline bool are_npy(const RawValues& values) { return values.shape && *values.shape == std::vector<int64_t>{-1}; }

}  // namespace spdld::config
