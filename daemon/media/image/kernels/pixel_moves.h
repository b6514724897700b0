// Rows of pixels at other places, of 1, 2, 3, 4, 6 or 8 bytes a pixel. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spdld::image {

// `to` has `width` pixels, and does not overlap `from`.
void mirror_row(const uint8_t* from, int width, size_t pixel_bytes, uint8_t* to);
// Pixel pixels[i] of `from` becomes pixel i of `to`.
void pick_row(const uint8_t* from, const std::vector<int>& pixels, size_t pixel_bytes, uint8_t* to);

}  // namespace spdld::image
