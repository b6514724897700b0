#include "daemon/media/image/adjustments/adjust_pixels.h"

#include <algorithm>
#include <cmath>

#include "daemon/base/random.h"
#include "daemon/media/image/adjustments/adjust_rows.h"
#include "daemon/media/image/adjustments/border.h"

namespace spdld::image {
namespace {

size_t pixels_of(const AdjustedPicture& picture) {
  return static_cast<size_t>(picture.size.width) * static_cast<size_t>(picture.size.height);
}

constexpr uint64_t kInANs = 1, kByKernelInANs = 2;  // bytes that are changed

// Calls change(pixel) for each pixel of three channels.
template <typename Change>
void each_pixel(const AdjustedPicture& picture, Change change) {
  picture.each_part(kInANs, [&](uint8_t* pixel, size_t bytes) {
    for (const uint8_t* const end = pixel + bytes; pixel != end; pixel += 3) change(pixel);
  });
}

// Calls change(value) for each value.
template <typename Change>
void each_value(const AdjustedPicture& picture, Change change) {
  picture.each_part(kInANs, [&](uint8_t* values, size_t bytes) {
    for (uint8_t& value : std::span(values, bytes)) change(value);
  });
}

}  // namespace

void map_values(const PointTables& tables, const AdjustedPicture& picture) {
  const auto& table = tables.table;
  const auto& order = tables.order;
  if (picture.channels == 1) {
    return each_value(picture, [&](uint8_t& value) { value = table[0][value]; });
  }
  each_pixel(picture, [&](uint8_t* pixel) {
    const uint8_t red = pixel[order[0]], green = pixel[order[1]], blue = pixel[order[2]];
    pixel[0] = table[0][red];
    pixel[1] = table[1][green];
    pixel[2] = table[2][blue];
  });
}

float grey_mean(const AdjustedPicture& picture) {
  uint64_t sum = 0;
  if (picture.channels == 1) {
    each_value(picture, [&](uint8_t value) { sum += value; });
  } else {
    picture.each_part(kByKernelInANs, [&](const uint8_t* pixels, size_t bytes) { sum += grey_sum(pixels, bytes / 3); });
  }
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(pixels_of(picture)));
}

std::array<Histogram, 3> histograms(const AdjustedPicture& picture) {
  std::array<Histogram, 3> counts{};
  if (picture.channels == 1) {
    each_value(picture, [&](uint8_t value) { ++counts[0][value]; });
    return counts;
  }
  each_pixel(picture, [&](const uint8_t* pixel) {
    ++counts[0][pixel[0]];
    ++counts[1][pixel[1]];
    ++counts[2][pixel[2]];
  });
  return counts;
}

void make_grey(const AdjustedPicture& picture) {
  picture.each_part(kByKernelInANs, [](uint8_t* pixels, size_t bytes) { make_grey_pixels(pixels, bytes / 3); });
}

void saturate(const AdjustedPicture& picture, double factor) {
  picture.each_part(kByKernelInANs, [&](uint8_t* pixels, size_t bytes) {
    saturate_pixels(pixels, bytes / 3, static_cast<float>(factor), static_cast<float>(1 - factor));
  });
}

void turn_hue(const AdjustedPicture& picture, float turn) {
  picture.each_part(kInANs, [&](uint8_t* pixels, size_t bytes) { turn_hue_of_pixels(pixels, bytes / 3, turn); });
}

void keep_one_channel(AdjustedPicture& picture) {
  uint8_t* to = picture.pixels();
  each_pixel(picture, [&](const uint8_t* pixel) { *to++ = *pixel; });
  picture.channels = 1;
}

void sharpen(const AdjustedPicture& picture, const uint8_t* copy, double factor) {
  if (picture.size.width <= 2 || picture.size.height <= 2) return;
  const auto step = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes();
  for (size_t y = 1; y + 1 < static_cast<size_t>(picture.size.height); ++y) {
    picture.spend(stride, kByKernelInANs);
    const uint8_t* at = copy + y * stride + step;
    sharpen_row({at - stride, at, at + stride, step, stride - 2 * step}, static_cast<float>(1 - factor),
                picture.pixels() + y * stride + step);
  }
}

void fill_gaussian(double sigma, std::span<float> weights) {
  const double middle = static_cast<double>(weights.size() - 1) / 2;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double at = (static_cast<double>(i) - middle) / sigma, weight = std::exp(-at * at / 2);
    weights[i] = static_cast<float>(weight);
    sum += weight;
  }
  for (float& weight : weights) weight /= static_cast<float>(sum);
}

namespace {

size_t reflected(int at, int length) { return static_cast<size_t>(place_behind(BorderKind::kReflect, at, length)); }

}  // namespace

// Products that are added up in a nanosecond: about, and at most by any processor, since each sum waits for the one
// before it.
constexpr uint64_t kSumsInANs = 4, kSumsInANsMax = 16;

void blur(const AdjustedPicture& picture, const uint8_t* copy, std::span<const float> across,
          std::span<const float> down, std::vector<float>& row) {
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes(), border = across.size() / 2 * channels;
  const int half = static_cast<int>(down.size() / 2), width = picture.size.width;
  row.resize(stride + 2 * border);
  float* const middle = row.data() + border;
  std::array<const uint8_t*, kTapsMax> rows;
  const uint64_t of_row = stride * (across.size() + down.size());
  if (picture.guard != nullptr)
    picture.guard->expect(of_row * static_cast<uint64_t>(picture.size.height) / kSumsInANsMax);
  for (int y = 0; y < picture.size.height; ++y) {
    picture.spend(of_row, kSumsInANs);
    for (int i = 0; i < static_cast<int>(down.size()); ++i)
      rows[static_cast<size_t>(i)] = copy + stride * reflected(y + i - half, picture.size.height);
    weigh_rows(std::span(rows).first(down.size()), down, stride, middle);
    for (size_t i = 1; i <= across.size() / 2; ++i) {
      const int place = static_cast<int>(i);
      const float *left = middle + reflected(-place, width) * channels,
                  *right = middle + reflected(width - 1 + place, width) * channels;
      std::copy(left, left + channels, middle - i * channels);
      std::copy(right, right + channels, middle + stride + (i - 1) * channels);
    }
    weigh_line(row.data(), channels, across, stride, picture.pixels() + stride * static_cast<size_t>(y));
  }
}

void add_noise(const AdjustedPicture& picture, const NoiseTable& noise, uint64_t seed) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // SplitMix64's
  each_value(picture, [&](uint8_t& value) {
    value = static_cast<uint8_t>(std::clamp(value + noise.value(mix_bits(seed += kStep)), 0, 255));
  });
}

}  // namespace spdld::image
