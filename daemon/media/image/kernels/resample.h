// The kernels that resample one band of rows, for every instruction set that Highway knows, chosen at run time; all of
// them give the same bytes. Pure functions over memory that the caller owns; any thread.
//
// Vertical pass first, on the rows as they are (interleaved RGB, grey, or one plane of luma or chroma; 8 bits), to
// 16-bit values with 7 fractional bits. It leaves the values turned: the band's rows lie side by side for each source
// column. So the horizontal pass is, for any number of taps, plain vector arithmetic over 32 rows at once. Luma and
// chroma meet at the wanted size and become RGB there (JFIF 1.02: full-range BT.601). The result is rounded to 8 bits
// once, and turned back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/media/image/codecs/planes.h"
#include "daemon/media/image/kernels/weights.h"

namespace spdld::image {

// The version of these kernels, of their weights (weights.h) and of the rows that they become (tensor_rows.h): raised
// when any of them gives other bytes.
constexpr int kResamplerVersion = 1;

constexpr int kBandRows = 32;

// Interleaved RGB, or one plane.
struct BandSource {
  const uint8_t* first = nullptr;  // sample (horizontal->range().first, vertical->range().first)
  size_t stride_bytes = 0;         // 64 bytes behind the last sample needed are read
  const AxisWeights* vertical = nullptr;
  const AxisWeights* horizontal = nullptr;
  int16_t* columns = nullptr;  // scratch of columns_size() elements, aligned to 64 bytes

  int width() const { return horizontal->range().end - horizontal->range().first; }
  // Scratch for `samples` of a source row.
  static size_t columns_size(int samples) { return (static_cast<size_t>(samples) + 32) * kBandRows; }
};

// A row of wanted pixels: interleaved RGB, or three rows of one colour each, one after the other; or one grey row.
struct RowLayout {
  bool planar = false;
  int width = 0;
  bool grey = false;  // planar, and the first row alone; of kGrey

  static size_t rounded(size_t bytes) { return (bytes + 31) / 32 * 32; }
  size_t plane_bytes() const { return planar ? rounded(static_cast<size_t>(width)) : 0; }  // 0: interleaved
  size_t bytes() const { return planar ? (grey ? 1 : 3) * plane_bytes() : rounded(3 * static_cast<size_t>(width)); }
};

// The numbers of PlanesColours in the kernels' fixed point.
struct TaggedColours {
  // Fractions of 2^15, whose whole parts the kernels add: red and luma 1, blue 2, green none.
  int16_t luma = 0, red_from_cr = 0, green_from_cb = 0, green_from_cr = 0, blue_from_cb = 0;
  int16_t black = 0;  // times luma's scale, with 7 fractional bits
};
// Precondition: luma_scale and red_from_cr are from 1 to below 2, blue_from_cb from 1 to below 3, and green's factors
// above -1 and at most 0. All matrices of H.273 keep to that.
TaggedColours fixed_colours(const PlanesColours& colours);

struct Band {
  enum class Colours : uint8_t { kRgb, kYcc, kGrey };

  Colours colours = Colours::kRgb;
  const TaggedColours* tagged = nullptr;  // of kYcc and kGrey; null: JFIF's
  std::array<BandSource, 3> sources;      // kYcc: Y, Cb, Cr, the last two with the same weights; else the first alone
  int first_row = 0, rows = 0;            // wanted rows [first_row, first_row + rows), at most kBandRows
  RowLayout layout;
  uint8_t* turned = nullptr;  // scratch of layout.bytes() * kBandRows bytes, aligned to 64 bytes
  uint8_t* out = nullptr;     // kBandRows rows of layout.bytes()
};

void resample_band(const Band& band);

}  // namespace spdld::image
