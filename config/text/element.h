// One element of a tensor from a number that a file gives. Pure function; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/text/dtype.h"

namespace spdld::config {

// The bytes of one element, in this machine's order. Floating-point types round to nearest, ties to even. None: the
// number is not finite, or beyond the type's range, or for an integer type no whole number of at most 2^53.
std::optional<std::vector<uint8_t>> element_of(DType dtype, double number);

}  // namespace spdld::config
