#include "daemon/media/image/planes_rows.h"

#include <algorithm>
#include <cstring>

namespace spdld::image {
namespace {

constexpr int kNoColour = 128, kColourBits = 16, kHalfColour = 1 << (kColourBits - 1);
constexpr int kRedOfCr = 91'881, kBlueFromCb = 116'130, kGreenFromCb = -22'554, kGreenFromCr = -46'802;

uint8_t limited(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

void write_colours(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x, out += 3) {
    const int blue = cb[x] - kNoColour, red = cr[x] - kNoColour, y = luma[x];
    out[0] = limited(y + ((kRedOfCr * red + kHalfColour) >> kColourBits));
    out[1] = limited(y + ((kGreenFromCb * blue + kGreenFromCr * red + kHalfColour) >> kColourBits));
    out[2] = limited(y + ((kBlueFromCb * blue + kHalfColour) >> kColourBits));
  }
}

void write_grey(const uint8_t* luma, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x, out += 3) out[0] = out[1] = out[2] = luma[x];
}

// A row of chroma samples whose values are `scale` times too large.
struct MixedRow {
  const int* samples;  // the first is the plane's sample `first`
  int first, count;    // count: of the whole plane
  int scale;

  int at(int sample) const { return samples[std::clamp(sample, 0, count - 1) - first]; }
};

// Pixels of columns [x, x + width) from samples of half as many columns.
void widen(const MixedRow& row, int x, int width, uint8_t* line) {
  const int shift = row.scale == 4 ? 4 : 2;
  const int even = row.scale == 4 ? 8 : 1, odd = row.scale == 4 ? 7 : 2;
  for (int i = 0; i < width; ++i) {
    const int sample = (x + i) / 2, own = 3 * row.at(sample);
    const bool is_odd = (x + i) % 2 == 1;
    const int sum = is_odd ? own + row.at(sample + 1) + odd : own + row.at(sample - 1) + even;
    line[i] = static_cast<uint8_t>(sum >> shift);
  }
}

}  // namespace

void PlanesRows::upsample(const PlanesView& planes, size_t plane, const Box& box, int y, std::vector<uint8_t>& line) {
  const PlanesShape& shape = planes.shape;
  const Size size = shape.plane(static_cast<int>(plane));
  // libjpeg does not smooth chroma of at most two columns that it widens (jdsample.c, jinit_upsampler).
  const bool smooth = shape.chroma_across == 1 || size.width > 2;
  const auto row_at = [&](int row) {
    return planes.plane[plane] + planes.stride_bytes[plane] * static_cast<size_t>(std::clamp(row, 0, size.height - 1));
  };
  const bool mixes = smooth && shape.chroma_down == 2;
  const int own_row = y / shape.chroma_down, next_row = own_row + (y % 2 == 0 ? -1 : 1);
  const uint8_t *own = row_at(own_row), *next = row_at(next_row);
  line.resize(static_cast<size_t>(box.width));
  if (!smooth || (shape.chroma_across == 1 && !mixes)) {
    for (int i = 0; i < box.width; ++i) line[static_cast<size_t>(i)] = own[(box.x + i) / shape.chroma_across];
    return;
  }
  if (shape.chroma_across == 1) {
    const int bias = y % 2 == 0 ? 1 : 2;
    for (int i = 0; i < box.width; ++i)
      line[static_cast<size_t>(i)] = static_cast<uint8_t>((3 * own[box.x + i] + next[box.x + i] + bias) >> 2);
    return;
  }
  const int first = std::max(box.x / 2 - 1, 0), last = std::min((box.x + box.width - 1) / 2 + 1, size.width - 1);
  column_.resize(static_cast<size_t>(last - first + 1));
  for (int c = first; c <= last; ++c) column_[static_cast<size_t>(c - first)] = mixes ? 3 * own[c] + next[c] : own[c];
  widen({column_.data(), first, size.width, mixes ? 4 : 1}, box.x, box.width, line.data());
}

void PlanesRows::write(const PlanesView& planes, const Box& box, uint8_t* out) {
  for (int y = box.y; y < box.y + box.height; ++y, out += 3 * static_cast<size_t>(box.width)) {
    const uint8_t* luma = planes.plane[0] + planes.stride_bytes[0] * static_cast<size_t>(y) + box.x;
    if (planes.shape.grey) {
      write_grey(luma, box.width, out);
      continue;
    }
    upsample(planes, 1, box, y, cb_);
    upsample(planes, 2, box, y, cr_);
    write_colours(luma, cb_.data(), cr_.data(), box.width, out);
  }
}

}  // namespace spdld::image
