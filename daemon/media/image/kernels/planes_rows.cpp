#include "daemon/media/image/kernels/planes_rows.h"

#include <algorithm>

#include "daemon/media/image/kernels/colour_rows.h"

namespace spdld::image {
namespace {

void write_grey(const uint8_t* luma, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x, out += 3) out[0] = out[1] = out[2] = luma[x];
}

}  // namespace

const uint8_t* PlanesRows::widen(const uint8_t* own, const uint8_t* next, int samples, const Box& box,
                                 std::vector<uint16_t>& line) {
  const bool mixed = next != nullptr;
  const int first = box.x / 2, end = (box.x + box.width - 1) / 2 + 1;
  const auto count = static_cast<size_t>(end - first);
  const auto at = [&](int sample) {
    const int c = std::clamp(sample, 0, samples - 1);
    return static_cast<uint16_t>(mixed ? 3 * own[c] + next[c] : own[c]);
  };
  column_.resize(count + 2 + kRowSlack);
  line.resize(count + kRowSlack);
  if (mixed) {
    mix_rows(own + first, next + first, count, column_.data() + 1);
  } else {
    std::copy(own + first, own + end, column_.data() + 1);
  }
  column_[0] = at(first - 1);
  column_[count + 1] = at(end);
  widen_row(column_.data() + 1, count, mixed, line.data());
  return reinterpret_cast<const uint8_t*>(line.data()) + box.x % 2;
}

const uint8_t* PlanesRows::upsample(const PlanesView& planes, size_t plane, const Box& box, int y,
                                    std::vector<uint16_t>& line) {
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
  if (shape.chroma_across == 2 && smooth) return widen(own, mixes ? next : nullptr, size.width, box, line);
  if (shape.chroma_across == 1 && !mixes) return own + box.x;
  line.resize(static_cast<size_t>(box.width + 1) / 2);
  auto* const pixels = reinterpret_cast<uint8_t*>(line.data());
  const int bias = y % 2 == 0 ? 1 : 2;
  for (int i = 0; i < box.width; ++i)
    pixels[i] = mixes ? static_cast<uint8_t>((3 * own[box.x + i] + next[box.x + i] + bias) >> 2) : own[(box.x + i) / 2];
  return pixels;
}

void PlanesRows::write(const PlanesView& planes, const Box& box, uint8_t* out) {
  for (int y = box.y; y < box.y + box.height; ++y, out += 3 * static_cast<size_t>(box.width)) {
    const uint8_t* luma = planes.plane[0] + planes.stride_bytes[0] * static_cast<size_t>(y) + box.x;
    if (planes.shape.grey) {
      write_grey(luma, box.width, out);
      continue;
    }
    const uint8_t *cb = upsample(planes, 1, box, y, cb_), *cr = upsample(planes, 2, box, y, cr_);
    rgb_row(luma, cb, cr, static_cast<size_t>(box.width), out);
  }
}

}  // namespace spdld::image
