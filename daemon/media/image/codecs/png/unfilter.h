// The filters of a PNG's rows (third edition, 9), taken back for each instruction set. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::image {

inline constexpr uint8_t kFiltersMax = 4;  // a row's first byte is at most this

// Takes the filter of one row back, in place. `above`: the row above, already taken back, or zeroes. A pixel has 1, 3
// or 4 bytes. Precondition: filter <= kFiltersMax; there are kUnfilterSlack bytes behind both rows, which may be read.
void unfilter_row(uint8_t filter, int pixel_bytes, size_t row_bytes, const uint8_t* above, uint8_t* row);
inline constexpr size_t kUnfilterSlack = 4;

}  // namespace spdld::image
