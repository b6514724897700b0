#include "daemon/media/image/adjust_pixels.h"

#include <algorithm>
#include <cmath>

#include "daemon/base/random.h"
#include "daemon/media/image/border.h"

namespace spdld::image {
namespace {

float grey_of(const uint8_t* pixel) {
  return static_cast<float>(pixel[0]) * 0.2989F + static_cast<float>(pixel[1]) * 0.587F +
         static_cast<float>(pixel[2]) * 0.114F;
}

size_t pixels_of(const AdjustedPicture& picture) {
  return static_cast<size_t>(picture.size.width) * static_cast<size_t>(picture.size.height);
}

// To the nearest whole number, ties to even, of a value from 0 to 255: the sum has no bits below the point.
float rounded(float value) {
  constexpr float kWholeFrom = 12'582'912;  // 1.5 * 2^23
  return (value + kWholeFrom) - kWholeFrom;
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
    each_pixel(picture, [&](const uint8_t* pixel) { sum += static_cast<uint32_t>(grey_of(pixel)); });
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

void make_grey(const AdjustedPicture& picture) {
  each_pixel(picture, [](uint8_t* pixel) { pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(grey_of(pixel)); });
}

void saturate(const AdjustedPicture& picture, double factor) {
  const auto by = static_cast<float>(factor), rest = static_cast<float>(1 - factor);
  each_pixel(picture, [=](uint8_t* pixel) {
    const auto grey = static_cast<float>(static_cast<int>(grey_of(pixel)));
    for (int i = 0; i < 3; ++i) pixel[i] = value_of(static_cast<float>(pixel[i]) * by + rest * grey);
  });
}

namespace {

// Of values from 0 to 1, as Pillow's Convert.c and torchvision compute them; the hue is in parts of a turn.
struct Hsv {
  float hue, saturation, value;
};

Hsv hsv_of(float red, float green, float blue) {
  const float least = std::min({red, green, blue}), most = std::max({red, green, blue});
  if (least == most) return {0, 0, most};
  const float range = most - least;
  const float from_red = (most - red) / range, from_green = (most - green) / range, from_blue = (most - blue) / range;
  float sixths = from_blue - from_green;
  if (most != red) sixths = most == green ? from_red + 2 - from_blue : from_green + 4 - from_red;
  const float hue = sixths * (1.0F / 6) + 1;
  return {hue >= 1 ? hue - 1 : hue, range / most, most};
}

void write_rgb(const Hsv& hsv, uint8_t* pixel) {
  const float sixths = hsv.hue * 6, sector = std::floor(sixths), within = sixths - sector;
  const uint8_t v = value_of_unit(hsv.value), p = value_of_unit((1 - hsv.saturation) * hsv.value);
  const uint8_t q = value_of_unit((1 - hsv.saturation * within) * hsv.value);
  const uint8_t t = value_of_unit((hsv.saturation * within + (1 - hsv.saturation)) * hsv.value);
  const uint8_t rgb[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  const auto& chosen = rgb[static_cast<int>(sector) % 6];
  std::copy(std::begin(chosen), std::end(chosen), pixel);
}

}  // namespace

void turn_hue(const AdjustedPicture& picture, float turn) {
  constexpr float kScale = 1 / kWhiteValue;
  each_pixel(picture, [=](uint8_t* pixel) {
    Hsv hsv = hsv_of(static_cast<float>(pixel[0]) * kScale, static_cast<float>(pixel[1]) * kScale,
                     static_cast<float>(pixel[2]) * kScale);
    hsv.hue += turn;
    hsv.hue -= std::floor(hsv.hue);
    write_rgb(hsv, pixel);
  });
}

void keep_one_channel(AdjustedPicture& picture) {
  const size_t pixels = pixels_of(picture);
  for (size_t i = 0; i < pixels; ++i) picture.pixels()[i] = picture.pixels()[3 * i];
  picture.channels = 1;
}

// The blurred value is (the eight neighbours + 5 of the pixel itself) / 13, to the nearest; no sum lies in the middle.
void sharpen(const AdjustedPicture& picture, const uint8_t* copy, double factor) {
  if (picture.size.width <= 2 || picture.size.height <= 2) return;
  const auto step = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes();
  const auto rest = static_cast<float>(1 - factor);
  for (size_t y = 1; y + 1 < static_cast<size_t>(picture.size.height); ++y) {
    const uint8_t *at = copy + y * stride, *above = at - stride, *below = at + stride;
    uint8_t* out = picture.pixels() + y * stride;
    for (size_t x = step; x + step < stride; ++x) {
      const int sum = above[x - step] + above[x] + above[x + step] + at[x - step] + 5 * at[x] + at[x + step] +
                      below[x - step] + below[x] + below[x + step];
      const auto blurred = static_cast<float>((2 * sum + 13) / 26), value = static_cast<float>(at[x]);
      out[x] = value_of(value + rest * (blurred - value));
    }
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

// One row of the picture, blurred along the columns, from row[0] on.
void blur_down(const AdjustedPicture& picture, const uint8_t* copy, int y, std::span<const float> weights, float* row) {
  const size_t stride = picture.row_bytes();
  std::fill(row, row + stride, 0.0F);
  const int half = static_cast<int>(weights.size() / 2);
  for (int i = 0; i < static_cast<int>(weights.size()); ++i) {
    const float weight = weights[static_cast<size_t>(i)];
    const uint8_t* from = copy + stride * reflected(y + i - half, picture.size.height);
    for (size_t x = 0; x < stride; ++x) row[x] += weight * static_cast<float>(from[x]);
  }
}

}  // namespace

void blur(const AdjustedPicture& picture, const uint8_t* copy, std::span<const float> across,
          std::span<const float> down, std::vector<float>& row) {
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t stride = picture.row_bytes(), border = across.size() / 2 * channels;
  row.resize(2 * stride + 2 * border);
  float* const middle = row.data() + border;
  float* const sums = middle + stride + border;
  for (int y = 0; y < picture.size.height; ++y) {
    blur_down(picture, copy, y, down, middle);
    for (size_t i = 1; i <= across.size() / 2; ++i) {
      const int place = static_cast<int>(i), width = picture.size.width;
      const float *left = middle + reflected(-place, width) * channels,
                  *right = middle + reflected(width - 1 + place, width) * channels;
      std::copy(left, left + channels, middle - i * channels);
      std::copy(right, right + channels, middle + stride + (i - 1) * channels);
    }
    std::fill(sums, sums + stride, 0.0F);
    const float* from = row.data();
    for (const float weight : across) {
      for (size_t x = 0; x < stride; ++x) sums[x] += weight * from[x];
      from += channels;
    }
    uint8_t* out = picture.pixels() + stride * static_cast<size_t>(y);
    for (size_t x = 0; x < stride; ++x) out[x] = value_of(rounded(sums[x]));
  }
}

void add_noise(const AdjustedPicture& picture, const NoiseTable& noise, uint64_t seed) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // SplitMix64's
  for (uint8_t& value : std::span(picture.pixels(), picture.bytes())) {
    value = static_cast<uint8_t>(std::clamp(value + noise.value(mix_bits(seed += kStep)), 0, 255));
  }
}

}  // namespace spdld::image
