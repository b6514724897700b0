// A row of numbers mixed with another one: own = lam * own + (1 - lam) * partner, in place. Pure functions.
//
// float32 and the two halves are computed in float32, each product and the sum rounded, as torch does it; halves are
// rounded to nearest, ties to even, and uint8 to nearest, ties up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/text/dtype.h"

namespace spdld::mixing {

// `own` and `partner` are aligned as their elements and do not overlap; lam from 0 to 1. Throws std::logic_error for a
// type that can't be mixed (config::BatchOperationType::refuses).
void mix_rows(config::DType dtype, double lam, size_t elements, uint8_t* own, const uint8_t* partner);

}  // namespace spdld::mixing
