// The structure of a PNG, found without inflating anything: its header, its coded data and its chunks. Pure; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"

namespace spdld::image {

struct PngHeader {
  uint32_t width = 0, height = 0;
  uint8_t depth = 0;   // bits of a sample: 1, 2, 4, 8 or 16
  uint8_t colour = 0;  // 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGB with alpha
  bool interlaced = false;

  // The bytes of a row of `pixels` pixels, without its filter byte.
  uint64_t row_bytes(uint32_t pixels) const;
  // The bytes that the coded data inflate to: all rows of all passes, with their filter bytes.
  uint64_t inflated_bytes() const;
};

struct PngOutline {
  PngHeader header;
  uint64_t coded_bytes = 0;  // of all IDAT chunks
  bool is_animated = false;
  int orientation = 1;  // that its EXIF or XMP tells (notes.h)
};

// Reads the chunks up to IEND, which must all be there; bytes behind IEND are ignored. kContent: the bytes are cut off,
// have a header that no PNG has, or are not laid out as a PNG. libspng looks at the content of the other chunks.
// kUnsupported: the picture has a critical chunk that PNG does not define.
Result<PngOutline> outline_of(std::span<const uint8_t> png);

// The content of the first iCCP chunk, inflated. kContent: it is damaged, or too large.
Result<ColourProfile> png_profile(std::span<const uint8_t> png, const PngHeader& header);

// The signature and the critical chunks up to IEND as one sequence of bytes, read piece by piece. Ancillary chunks are
// left out, but for tRNS where it is asked for: nobody inflates a colour profile or a text. Precondition: outline_of()
// gave no error.
class CriticalBytes {
 public:
  CriticalBytes(std::span<const uint8_t> png, bool with_transparency);
  // The next `count` bytes. False: there are fewer.
  bool read(uint8_t* to, size_t count);

 private:
  std::span<const uint8_t> rest_;  // the chunks behind the piece
  bool with_transparency_;
  std::span<const uint8_t> piece_;  // what is left of the signature or of a chunk
};

// Deflate codes at most 258 bytes in two bits.
inline constexpr uint64_t kInflatedPerByte = 1032;

}  // namespace spdld::image
