#include "daemon/media/image/kernels/pixel_moves.h"

#include <cstring>

namespace spdld::image {
namespace {

template <size_t kPixelBytes>
void mirror_pixels(const uint8_t* from, int width, uint8_t* to) {
  to += kPixelBytes * static_cast<size_t>(width);
  for (int x = 0; x < width; ++x, from += kPixelBytes) std::memcpy(to -= kPixelBytes, from, kPixelBytes);
}

template <size_t kPixelBytes>
void pick_pixels(const uint8_t* from, const std::vector<int>& pixels, uint8_t* to) {
  for (const int pixel : pixels) {
    std::memcpy(to, from + kPixelBytes * static_cast<size_t>(pixel), kPixelBytes);
    to += kPixelBytes;
  }
}

}  // namespace

void mirror_row(const uint8_t* from, int width, size_t pixel_bytes, uint8_t* to) {
  switch (pixel_bytes) {
    case 1:
      return mirror_pixels<1>(from, width, to);
    case 2:
      return mirror_pixels<2>(from, width, to);
    case 4:
      return mirror_pixels<4>(from, width, to);
    case 6:
      return mirror_pixels<6>(from, width, to);
    case 8:
      return mirror_pixels<8>(from, width, to);
    case 12:
      return mirror_pixels<12>(from, width, to);
    default:
      return mirror_pixels<3>(from, width, to);
  }
}

void pick_row(const uint8_t* from, const std::vector<int>& pixels, size_t pixel_bytes, uint8_t* to) {
  switch (pixel_bytes) {
    case 1:
      return pick_pixels<1>(from, pixels, to);
    case 2:
      return pick_pixels<2>(from, pixels, to);
    case 4:
      return pick_pixels<4>(from, pixels, to);
    case 6:
      return pick_pixels<6>(from, pixels, to);
    case 8:
      return pick_pixels<8>(from, pixels, to);
    case 12:
      return pick_pixels<12>(from, pixels, to);
    default:
      return pick_pixels<3>(from, pixels, to);
  }
}

}  // namespace spdld::image
