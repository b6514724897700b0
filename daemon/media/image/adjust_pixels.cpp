#include "daemon/media/image/adjust_pixels.h"

#include <algorithm>
#include <cmath>

#include "daemon/base/random.h"
#include "daemon/media/image/adjust_rows.h"
#include "daemon/media/image/border.h"

namespace spdld::image {
namespace {

size_t pixels_of(const AdjustedPicture& picture) {
  return static_cast<size_t>(picture.size.width) * static_cast<size_t>(picture.size.height);
}

// Calls change(pixel) for each pixel of three channels.
template <typename Change>
void each_pixel(const AdjustedPicture& picture, Change change) {
  uint8_t* pixel = picture.pixels();
  const uint8_t* const end = pixel + picture.bytes();
  for (; pixel != end; pixel += 3) change(pixel);
}

}  // namespace

void map_values(const PointTables& tables, const AdjustedPicture& picture) {
  const auto& table = tables.table;
  const auto& order = tables.order;
  if (picture.channels == 1) {
    for (uint8_t& value : std::span(picture.pixels(), picture.bytes())) value = table[0][value];
    return;
  }
  each_pixel(picture, [&](uint8_t* pixel) {
    const uint8_t red = pixel[order[0]], green = pixel[order[1]], blue = pixel[order[2]];
    pixel[0] = table[0][red], pixel[1] = table[1][green], pixel[2] = table[2][blue];
  });
}

float grey_mean(const AdjustedPicture& picture) {
  uint64_t sum = 0;
  if (picture.channels == 1) {
    for (const uint8_t value : std::span(picture.pixels(), picture.bytes())) sum += value;
  } else {
    sum = grey_sum(picture.pixels(), pixels_of(picture));
  }
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(pixels_of(picture)));
}

std::array<Histogram, 3> histograms(const AdjustedPicture& picture) {
  std::array<Histogram, 3> counts{};
  if (picture.channels == 1) {
    for (const uint8_t value : std::span(picture.pixels(), picture.bytes())) ++counts[0][value];
    return counts;
  }
  each_pixel(picture,
             [&](const uint8_t* pixel) { ++counts[0][pixel[0]], ++counts[1][pixel[1]], ++counts[2][pixel[2]]; });
  return counts;
}

void make_grey(const AdjustedPicture& picture) { make_grey_pixels(picture.pixels(), pixels_of(picture)); }

void saturate(const AdjustedPicture& picture, double factor) {
  saturate_pixels(picture.pixels(), pixels_of(picture), static_cast<float>(factor), static_cast<float>(1 - factor));
}

void turn_hue(const AdjustedPicture& picture, float turn) {
  turn_hue_of_pixels(picture.pixels(), pixels_of(picture), turn);
}

void keep_one_channel(AdjustedPicture& picture) {
  const size_t pixels = pixels_of(picture);
  for (size_t i = 0; i < pixels; ++i) picture.pixels()[i] = picture.pixels()[3 * i];
  picture.channels = 1;
}

void sharpen(const AdjustedPicture& picture, const uint8_t* copy, double factor) {
  if (picture.size.width <= 2 || picture.size.height <= 2) return;
  const auto step = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes();
  for (size_t y = 1; y + 1 < static_cast<size_t>(picture.size.height); ++y) {
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

void blur(const AdjustedPicture& picture, const uint8_t* copy, std::span<const float> across,
          std::span<const float> down, std::vector<float>& row) {
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes(), border = across.size() / 2 * channels;
  const int half = static_cast<int>(down.size() / 2), width = picture.size.width;
  row.resize(stride + 2 * border);
  float* const middle = row.data() + border;
  std::array<const uint8_t*, kTapsMax> rows;
  for (int y = 0; y < picture.size.height; ++y) {
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
  for (uint8_t& value : std::span(picture.pixels(), picture.bytes())) {
    value = static_cast<uint8_t>(std::clamp(value + noise.value(mix_bits(seed += kStep)), 0, 255));
  }
}

}  // namespace spdld::image
