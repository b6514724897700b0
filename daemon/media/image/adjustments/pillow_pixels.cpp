#include "daemon/media/image/adjustments/pillow_pixels.h"

#include <algorithm>
#include <cstddef>

namespace spdld::image {
namespace {

// Image.blend, from `from` (a factor of 0) over `to` (a factor of 1) and beyond, without the fraction.
uint8_t blended(int from, int to, float factor) {
  return value_of(static_cast<float>(from) + factor * static_cast<float>(to - from));
}

// Image.convert("L"), to the nearest.
int pillow_grey(const uint8_t* pixel) {
  return static_cast<int>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16);
}

int pillow_grey_mean(const AdjustedPicture& picture) {
  uint64_t sum = 0;
  const auto step = static_cast<size_t>(picture.channels);
  picture.each_part(1, [&](const uint8_t* pixels, size_t bytes) {
    for (size_t i = 0; i < bytes; i += step)
      sum += static_cast<uint64_t>(step == 1 ? pixels[i] : pillow_grey(pixels + i));
  });
  const size_t count = picture.bytes() / step;
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

}  // namespace

ValueTable pillow_autocontrast_table(const Histogram& counts) {
  const auto occurs = [](uint32_t count) { return count != 0; };
  const auto least = std::find_if(counts.begin(), counts.end(), occurs) - counts.begin();
  const auto most = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), occurs) - 1;
  const double scale = most > least ? 255.0 / static_cast<double>(most - least) : 1;
  const double offset = most > least ? -static_cast<double>(least) * scale : 0;
  ValueTable table;
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint8_t>(std::clamp(static_cast<double>(i) * scale + offset, 0.0, 255.0));
  return table;
}

ValueTable pillow_contrast_table(const AdjustedPicture& picture, float factor) {
  const int mean = pillow_grey_mean(picture);
  ValueTable table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = blended(mean, static_cast<int>(i), factor);
  return table;
}

void pillow_saturate(const AdjustedPicture& picture, float factor) {
  picture.each_part(1, [&](uint8_t* pixels, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 3) {
      const int grey = pillow_grey(pixels + i);
      for (size_t k = i; k < i + 3; ++k) pixels[k] = blended(grey, pixels[k], factor);
    }
  });
}

void pillow_sharpen(const AdjustedPicture& picture, const uint8_t* copy, float factor) {
  if (picture.size.width <= 2 || picture.size.height <= 2) return;
  const auto step = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes();
  for (size_t y = 1; y + 1 < static_cast<size_t>(picture.size.height); ++y) {
    picture.spend(stride, 1);
    const uint8_t *const at = copy + y * stride, *const above = at - stride, *const below = at + stride;
    uint8_t* const out = picture.pixels() + y * stride;
    for (size_t i = step; i < stride - step; ++i) {
      const int around = above[i - step] + above[i] + above[i + step] + at[i - step] + at[i + step] + below[i - step] +
                         below[i] + below[i + step];
      out[i] = blended((around + 5 * at[i] + 6) / 13, at[i], factor);  // to the nearest; no sum lies in the middle
    }
  }
}

}  // namespace spdld::image
