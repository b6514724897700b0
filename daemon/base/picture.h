// The geometry and the pixels that decoders give and transforms take. Plain values.
#pragma once

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

// Rows of interleaved 8-bit RGB that cover `covers` of a picture of size `picture` (both in the picture's own, oriented
// coordinates). The pixel (x, y) of the picture is at row(y) + 3 * (x - covers.x). At least 64 bytes after the last
// pixel are readable (SIMD kernels read past the end). Reused from sample to sample by one decode thread.
struct PixelRows {
  ByteBuffer memory;
  size_t offset = 0;        // of the first pixel of `covers` in memory
  size_t stride_bytes = 0;  // from row to row
  Box covers;
  Size picture;

  static constexpr size_t kSlackBytes = 64;
  const uint8_t* row(int y) const { return memory.data() + offset + stride_bytes * static_cast<size_t>(y - covers.y); }
};

}  // namespace spdld
