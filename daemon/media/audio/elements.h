// Writes floats as elements of a tensor. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "config/text/dtype.h"

namespace spdld::audio {

// Element i stands `step` elements behind element i - 1. To the nearest, ties to even. kFloat32, kFloat16 (beyond its
// range: infinite), kBfloat16, or kInt16: 32768 times the value, within its bounds; NaN becomes 0.
void write_elements(config::DType dtype, std::span<const float> values, uint8_t* to, size_t step);

}  // namespace spdld::audio
