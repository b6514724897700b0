// Compressed pictures to pixels. One object a decode thread, reused for every picture: contexts, tables and scratch are
// kept. This is the seam for other decoders: bytes + box -> rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "daemon/base/picture.h"
#include "daemon/base/planes.h"
#include "daemon/base/result.h"

namespace spdld::decode {

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  // Reads the header; `bytes` must stay valid until the next open(). With `exif`, the picture's size and all boxes are
  // those of the oriented picture (EXIF orientation 1 to 8), else those of the stored one. Errors are kUnsupported: a
  // picture of another format, or a JPEG of a kind that is not decoded (12 bits, lossless); or kContent: no picture,
  // more than kPixelsMax pixels, or cut off (no end-of-image marker after the scan's start).
  virtual Result<Size> open(std::span<const uint8_t> bytes, bool exif) = 0;

  // Decodes what `box` (inside the picture) needs: rows.covers contains box, its pixels are exactly those of a decoding
  // of the whole picture. Errors are kContent: damaged data (libjpeg's warnings of damage are errors here).
  virtual Status decode(const Box& box, PixelRows& rows) = 0;

  // The shape of the opened picture's planes; none where they would not carry it (CMYK, RGB, an EXIF turn that is asked
  // for, other sampling than 4:4:4, 4:2:2, 4:2:0, 4:4:0 and grey, other than 8 bits). With `reduction` (1, 2, 4 or 8;
  // for any other number there are none) of a smaller picture: each of its samples is the mean of so many pixels across
  // and down (of the last ones some may be what fills the JPEG's last blocks up); chroma may be less reduced than luma,
  // and so be of its size. A chroma sample stands for at most 8 pixels across or down: where it would be for 16 (4:2:2
  // and 4:4:0 reduced by 8) there are no planes.
  virtual std::optional<PlanesShape> planes(int reduction) const = 0;
  std::optional<PlanesShape> planes() const { return planes(1); }
  // Decodes the whole picture into planes: `memory` has PlanesLayout(*planes()).bytes bytes, aligned to
  // PlanesLayout::kAlignment, and gets header, samples and zeroed slack. Instead of decode(), once after open(). The
  // samples are those of libjpeg's raw output. Errors as of decode().
  virtual Status decode_planes(uint8_t* memory) = 0;
  // The same, but only what `box` (inside the picture) needs: its luma and chroma samples, and one chroma sample more
  // to each side, have their values at their places in the whole picture's planes; the others are undefined. Faster
  // than decode(): nothing is upsampled or converted. For planes that are rendered once and not kept. With `reduction`
  // those of planes(reduction); the box remains in the picture's own pixels: all samples that it touches have values.
  virtual Status decode_planes(const Box& box, int reduction, uint8_t* memory) = 0;
  Status decode_planes(const Box& box, uint8_t* memory) { return decode_planes(box, 1, memory); }

  static constexpr int64_t kPixelsMax = 178'956'970;  // Pillow's limit for decompression bombs
};

// JPEG by libjpeg-turbo's own API; grey becomes RGB, CMYK and YCCK (as Adobe stores them, inverted) too.
std::unique_ptr<ImageDecoder> make_jpeg_decoder();

}  // namespace spdld::decode
