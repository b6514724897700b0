#include "daemon/media/image/adjustments/pillow_warp.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace spdld::image {
namespace {

// Python's round(value, 15).
double rounded(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 15).ptr;
  double found = value;
  std::from_chars(text.data(), end, found);
  return found;
}

// How far the second of four neighbours, or the first of two, lies before a place, and its number.
struct Before {
  explicit Before(double place) {
    const double at = place - 0.5;  // at least -0.5
    pixel = static_cast<int>(at) - (at < 0 ? 1 : 0);
    part = at - pixel;
  }
  int pixel;
  double part;
};

double mixed(const std::array<double, 2>& v, double part) { return v[0] + (v[1] - v[0]) * part; }

// Keys' cubic with a = -1, in Pillow's order.
double mixed(const std::array<double, 4>& v, double part) {
  const double first = v[2] - v[0], second = 2 * (v[0] - v[1]) + v[2] - v[3], third = v[1] - v[0] + v[3] - v[2];
  return v[1] + part * (first + part * (second + part * third));
}

uint8_t value_within(double value) { return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)); }

template <size_t kTaps, size_t kChannels>
void take_pixel(const Warp& warp, const uint8_t* pixels, const Place& place, uint8_t* out) {
  const Before across(place.x), down(place.y);
  constexpr int kFirst = kTaps == 4 ? -1 : 0;
  std::array<size_t, kTaps> columns;
  std::array<const uint8_t*, kTaps> rows;
  const size_t stride = static_cast<size_t>(warp.source.width) * kChannels;
  for (size_t i = 0; i < kTaps; ++i) {
    const int tap = static_cast<int>(i) + kFirst;
    columns[i] = static_cast<size_t>(std::clamp(across.pixel + tap, 0, warp.source.width - 1)) * kChannels;
    rows[i] = pixels + static_cast<size_t>(std::clamp(down.pixel + tap, 0, warp.source.height - 1)) * stride;
  }
  std::array<std::array<double, kTaps>, kChannels> lines;
  for (size_t y = 0; y < kTaps; ++y) {
    for (size_t channel = 0; channel < kChannels; ++channel) {
      std::array<double, kTaps> values;
      for (size_t x = 0; x < kTaps; ++x) values[x] = rows[y][columns[x] + channel];
      lines[channel][y] = mixed(values, across.part);
    }
  }
  for (size_t channel = 0; channel < kChannels; ++channel)
    out[channel] = value_within(mixed(lines[channel], down.part));
}

template <size_t kTaps, size_t kChannels>
void run_with(const Warp& warp, const uint8_t* pixels, uint8_t* out, media::WorkGuard* guard) {
  for (int y = 0; y < warp.size.height; ++y) {
    media::spend(guard, static_cast<uint64_t>(warp.size.width) * kTaps * kTaps * kChannels, 1);
    for (int x = 0; x < warp.size.width; ++x, out += kChannels) {
      const Place place = pillow_place(warp, x, y);
      if (place.x >= 0 && place.x < warp.source.width && place.y >= 0 && place.y < warp.source.height) {
        take_pixel<kTaps, kChannels>(warp, pixels, place, out);
      } else {
        std::copy_n(warp.fill.data(), kChannels, out);
      }
    }
  }
}

}  // namespace

Warp pillow_warp(const Size& source, const std::array<double, 6>& back) {
  Warp warp{.kind = WarpKind::kPillow, .source = source, .size = source, .filter = Filter::kBicubic};
  std::copy(back.begin(), back.end(), warp.back.begin());
  return warp;
}

Warp pillow_rotation(const Size& source, double degrees) {
  double within = std::fmod(degrees, 360.0);
  if (within < 0) within += 360.0;
  const double turn = -(within * (std::numbers::pi / 180));
  const double cosine = rounded(std::cos(turn)), sine = rounded(std::sin(turn)), minus = rounded(-std::sin(turn));
  const double x = source.width / 2.0, y = source.height / 2.0;
  return pillow_warp(source,
                     {cosine, sine, (cosine * -x + sine * -y) + x, minus, cosine, (minus * -x + cosine * -y) + y});
}

Place pillow_place(const Warp& warp, int x, int y) {
  const auto& back = warp.back;
  const double across = x + 0.5, down = y + 0.5;
  return {(back[0] * across + back[1] * down) + back[2], (back[3] * across + back[4] * down) + back[5]};
}

void run_as_pillow(const Warp& warp, const uint8_t* pixels, int channels, uint8_t* out, media::WorkGuard* guard) {
  const bool is_grey = channels == 1;
  if (warp.filter == Filter::kBicubic)
    return is_grey ? run_with<4, 1>(warp, pixels, out, guard) : run_with<4, 3>(warp, pixels, out, guard);
  return is_grey ? run_with<2, 1>(warp, pixels, out, guard) : run_with<2, 3>(warp, pixels, out, guard);
}

}  // namespace spdld::image
