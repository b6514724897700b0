#include "daemon/media/image/codecs/png/reading.h"

#include <string>

namespace spdld::image {
namespace {

enum PngColour : uint8_t { kPngGrey = 0, kPngPalette = 3, kPngGreyAlpha = 4 };  // of a header

template <typename To>
void unpack(const uint8_t* in, int bits, To* out, uint32_t width) {
  const unsigned mask = (1u << bits) - 1;
  for (uint32_t x = 0; x < width; ++x) {
    const uint32_t bit = x * static_cast<uint32_t>(bits);  // from the first byte's highest one
    out[x] = static_cast<To>(unsigned{in[bit / 8]} >> (8 - static_cast<uint32_t>(bits) - bit % 8) & mask);
  }
}

}  // namespace

size_t PngReading::row_bytes(uint32_t width) const {
  if (packed_bits != 0) return (size_t{width} * static_cast<size_t>(packed_bits) + 7) / 8;
  return size_t{width} * static_cast<size_t>(pixels.pixel_bytes());
}

bool PngReading::gives(const Pixels& wanted) const { return packed_bits == 0 && pixels == wanted.format(); }

void PngReading::convert(const uint8_t* in, const Pixels& wanted, uint8_t* out, uint32_t width) const {
  if (packed_bits == 0) return convert_row(pixels, in, wanted, out, width);
  if (wanted.bits == 16) return unpack(in, packed_bits, reinterpret_cast<uint16_t*>(out), width);
  unpack(in, packed_bits, out, width);
}

PngReading reading_of(const PngHeader& header, const Pixels& wanted) {
  const bool is_grey = header.colour == kPngGrey, is_deep = header.depth == 16;
  if (wanted.colours == Colours::kStored && (is_grey || header.colour == kPngPalette)) {
    return {SPNG_FMT_PNG, {1, is_deep ? 2 : 1}, header.depth < 8 ? header.depth : 0, false};
  }
  if (wanted.colours == Colours::kRgba) {
    return is_deep ? PngReading{SPNG_FMT_RGBA16, {4, 2}, 0, true} : PngReading{SPNG_FMT_RGBA8, {4, 1}, 0, true};
  }
  if (is_deep && wanted.bits == 16) {
    return is_grey ? PngReading{SPNG_FMT_PNG, {1, 2}, 0, false} : PngReading{SPNG_FMT_RGBA16, {4, 2}, 0, false};
  }
  if (is_grey && !is_deep && wanted.colours == Colours::kGrey) return {SPNG_FMT_G8, {1, 1}, 0, false};
  return {};
}

Status check_stored(const PngHeader& header, int bits) {
  const bool has_values = header.colour == kPngGrey || header.colour == kPngPalette || header.colour == kPngGreyAlpha;
  if (!has_values)
    return Error{Trouble::kContent,
                 "a PNG of red, green and blue, where a mask's values are wanted: a mask has a palette "
                 "or is grey"};
  if (header.depth > bits)
    return Error{Trouble::kContent, "a PNG of 16 bits, where a mask's values of 8 bits are wanted"};
  return Done{};
}

}  // namespace spdld::image
