// Puts the samples of a TIFF's rows, as they are stored, to the places of pixels. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/tiff/layout.h"

namespace spdld::image {

// The colours of a palette, of 8 bits.
using TiffPalette = std::vector<std::array<uint8_t, 3>>;

// Which stored sample of a pixel goes to which channels.
struct SamplePlace {
  int from = 0;    // the sample
  int to = 0;      // the first channel
  int repeat = 1;  // how many channels get it
};
std::vector<SamplePlace> sample_places(const TiffLayout& layout, const PixelFormat& format);

// A row of samples: `in` has the samples of pixels side by side, `stride` of them for each pixel. It writes the sample
// `first` of each of `width` pixels to its channels at `out`. Samples of fewer than 8 bits are scaled to 8, and of 9 to
// 15 to 16.
struct SampleRow {
  const uint8_t* in;
  size_t stride, first;
};
void put_samples(const TiffLayout& layout, const SampleRow& row, const SamplePlace& place, const PixelFormat& format,
                 uint8_t* out, size_t width);
// Puts the colours of a palette's numbers into a row, which become three channels.
void put_palette(const TiffLayout& layout, const SampleRow& row, const TiffPalette& palette, uint8_t* out,
                 size_t width);

// Divides the colours of RGBA pixels by their alpha, as Pillow does it: colours of alpha 0 become 0.
void divide_by_alpha(const PixelFormat& format, uint8_t* pixels, size_t width);
// Turns pixels of four inks into RGBA, as Pillow does it. Pixels of 16 bits get the colours of their upper 8 where
// `of_upper`.
void inks_to_rgba(const PixelFormat& format, bool of_upper, uint8_t* pixels, size_t width);

}  // namespace spdld::image
