// Compressed pictures to pixels. One object a decode thread, reused for every picture: contexts, tables and scratch are kept.
// This is the seam for other decoders: bytes + box -> rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::decode {

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  // Reads the header; `bytes` must stay valid until the next open(). With `exif`, the picture's size and all boxes are those
  // of the oriented picture (EXIF orientation 1 to 8), else those of the stored one. Errors are kContent: no JPEG, no picture
  // in it, more than kPixelsMax pixels, or cut off (no end-of-image marker after the scan's start).
  virtual Result<Size> open(std::span<const uint8_t> bytes, bool exif) = 0;

  // Decodes what `box` (inside the picture) needs: rows.covers contains box, its pixels are exactly those of a decoding of
  // the whole picture. Errors are kContent: damaged data (libjpeg's warnings of damage are errors here).
  virtual Status decode(const Box& box, PixelRows& rows) = 0;

  static constexpr int64_t kPixelsMax = 178'956'970;  // Pillow's limit for decompression bombs
};

// JPEG by libjpeg-turbo's own API; grey becomes RGB, CMYK and YCCK (as Adobe stores them, inverted) too.
std::unique_ptr<ImageDecoder> make_jpeg_decoder();

}  // namespace spdld::decode
