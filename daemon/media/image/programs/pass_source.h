// The source of a pass of a program (geometry.h): the planes of a whole picture, reduced or not; or rows of pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

struct PassSource {
  PixelFormat format;        // of the pixels that the pass makes, also where it reads planes
  const PlanesView* planes;  // null: the pixels of `covers` are read
  const uint8_t* first;      // of the pixels of `covers`
  size_t stride_bytes;
  Box covers;
  int reduction = 1;             // of the planes
  ByteBuffer* memory = nullptr;  // of a picture between passes, which nobody else reads

  const uint8_t* at(int x, int y) const {
    return first + stride_bytes * static_cast<size_t>(y - covers.y) + pixel_bytes() * static_cast<size_t>(x - covers.x);
  }
  size_t pixel_bytes() const { return static_cast<size_t>(format.pixel_bytes()); }
  bool is_grey() const { return format == PixelFormat{1, 1}; }
  // The kernels of resample.h take RGB, grey and planes, of 8 bits.
  bool has_kernels() const { return is_grey() || format == PixelFormat(); }
};

}  // namespace spdld::image
