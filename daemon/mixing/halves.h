// The kernel that mixes rows of float16 by the machine's own instructions for halves, where it has them. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::mixing {

// As mix_rows() of rows.h for float16, of the first elements of two rows alone. Returns how many elements were mixed:
// all but the last few, or none where the machine has no such instructions. The bytes are the same as without them.
size_t mix_halves(double lam, size_t elements, uint8_t* own, const uint8_t* partner);

}  // namespace spdld::mixing
