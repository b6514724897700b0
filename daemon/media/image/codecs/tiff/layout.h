// How a page of a TIFF stores its pixels, and which of these layouts are decoded. Source: "TIFF Revision 6.0"
// (Adobe, 1992). Pure functions; any thread.
#pragma once

#include <cstdint>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/tiff/reader.h"

namespace spdld::image {

enum class TiffKind : uint8_t {
  kGrey,
  kGreyInverted,
  kPalette,
  kRgb,
  kCmyk,   // of ink, not inverted
  kLab,    // CIE L*a*b* of 8 bits
  kYcbcr,  // libtiff makes RGB of it
};

struct TiffLayout {
  enum class Alpha : uint8_t { kNone, kStraight, kMultiplied };  // kMultiplied: the colours are multiplied by alpha

  uint32_t width = 0, height = 0;
  int orientation = 1;
  int bits = 0;     // of a sample: 1 to 16; 32 of floats
  int samples = 0;  // of a pixel, as they are stored
  TiffKind kind = TiffKind::kGrey;
  Alpha alpha = Alpha::kNone;  // of the first sample behind the colours
  bool separate = false;       // a plane for each sample
  bool tiled = false;
  uint32_t tile_width = 0, tile_height = 0;  // of a tiled page
  uint32_t strip_height = 0;                 // of a page that is not tiled
  bool has_lab_offset = false;               // a* and b* are stored with 128 added to them, as ICC profiles have them
  uint32_t luma_each = 1;                    // of YCbCr: how many pixels share a sample of each chroma
  uint16_t compression = 0;

  bool is_float() const { return bits == 32; }
  int colours() const;
  // The rows that are made of it where `wanted` pixels are asked for.
  PixelFormat format(const Pixels& wanted) const;
  // The bytes of all samples, as they are before their compression.
  uint64_t sample_bytes() const;
  // The most memory that libtiff and the reading of its rows take, beside the rows that are given.
  uint64_t library_bytes() const;
};

// The layout of the page. kUnsupported: a sound page that is not decoded, with the sentence that says why. kContent:
// a page whose tags contradict one another, or claim more than `coded_bytes` can hold.
Result<TiffLayout> tiff_layout_of(const TiffReader& page, uint64_t coded_bytes);

inline constexpr char kTiffName[] = "a TIFF";

}  // namespace spdld::image
