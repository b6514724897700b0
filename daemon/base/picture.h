// The geometry and the pixels that decoders give and transforms take. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/base/byte_buffer.h"

namespace spdld {

struct Size {
  int width = 0, height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

// The smallest box that holds both.
inline Box union_of(const Box& a, const Box& b) {
  const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.width, b.x + b.width) - x, std::max(a.y + a.height, b.y + b.height) - y};
}

// The samples of one pixel.
struct PixelFormat {
  int channels = 3;  // 1: grey, or a mask's values; 3: red, green and blue; 4: these and alpha
  // 1: values 0..255; 2: values 0..65535 in the machine's order of bytes; 4: floats of any value, where white is 1.
  int sample_bytes = 1;

  constexpr int pixel_bytes() const { return channels * sample_bytes; }
  constexpr int white() const { return sample_bytes == 1 ? 255 : sample_bytes == 2 ? 65'535 : 1; }
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

// Rows of interleaved pixels that cover `covers` of a picture of size `picture` (both in the picture's own, oriented
// coordinates). The pixel (x, y) of the picture is at row(y) + format.pixel_bytes() * (x - covers.x). At least 64 bytes
// after the last pixel are readable (SIMD kernels read past the end). Reused from sample to sample by one decode
// thread.
struct PixelRows {
  ByteBuffer memory;
  PixelFormat format;
  size_t offset = 0;        // of the first pixel of `covers` in memory
  size_t stride_bytes = 0;  // from row to row
  Box covers;
  Size picture;

  static constexpr size_t kSlackBytes = 64;
  const uint8_t* row(int y) const { return memory.data() + offset + stride_bytes * static_cast<size_t>(y - covers.y); }
};

}  // namespace spdld
