// Turns rows of pixels from the format that a codec gives into the format that is wanted. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/picture.h"

namespace spdld::image {

// The pixels that a decoder is to give of a picture.
enum class Colours : uint8_t {
  kRgb,
  kGrey,   // luma
  kRgba,   // alpha is the greatest value where a picture has none
  kStored  // one channel, unscaled: a palette's numbers, or the values of a grey picture; for masks
};
struct Pixels {
  Colours colours = Colours::kRgb;
  int bits = 8;  // 8, 16, or 32 for floating-point numbers; kStored: the most that a stored value may have
  // Whether colours become sRGB where a picture has a colour profile. make_image_decoder()'s does it for all formats.
  bool srgb = false;
  int frame = 0;   // of an animation, or the page of a TIFF, counted from 0
  int frames = 0;  // how many frames ImageDecoder::decode_frames() gives; 0: one picture, `frame`

  constexpr PixelFormat format() const {
    const int channels = colours == Colours::kRgb ? 3 : colours == Colours::kRgba ? 4 : 1;
    return {channels, bits / 8};
  }
  friend bool operator==(const Pixels&, const Pixels&) = default;
};

// An ICC profile; empty: a picture has none.
struct ColourProfile {
  static constexpr size_t kBytesMax = size_t{4} << 20;  // larger ones are damage

  std::vector<uint8_t> bytes;
  bool is_grey = false;  // the picture stores grey
};

// Whether the planes of any JPEG can give such pixels (planes.h).
constexpr bool has_planes(const Pixels& pixels) {
  return pixels.bits == 8 && !pixels.srgb && pixels.frame == 0 && pixels.frames == 0 &&
         (pixels.colours == Colours::kRgb || pixels.colours == Colours::kGrey);
}

// Turns `width` pixels of format `from` at `in` into pixels of to.format() at `out`; both are aligned to their samples
// and do not overlap. A value of 8 bits becomes 16 bits times 257, as 255 becomes 65535; kStored takes it as it is. Of
// a value of 16 bits the upper 8 are taken. Colours become grey as in Pillow's convert("L"): (19595 red + 38470 green +
// 7471 blue + 32768) / 65536, rounded down, after any change of bits. Grey becomes three equal colours; alpha is
// dropped, or is the greatest value where there was none. Floats become floats alone, and 0.299 red +
// 0.587 green + 0.114 blue is their grey.
void convert_row(const PixelFormat& from, const uint8_t* in, const Pixels& to, uint8_t* out, size_t width);

// Converts all rows of a part of a picture, as convert_row() does. Reuses the memory of `to_rows`.
void convert_rows(const PixelRows& from, const Pixels& to, PixelRows& to_rows);

}  // namespace spdld::image
