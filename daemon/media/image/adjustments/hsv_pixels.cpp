#include "daemon/media/image/adjustments/hsv_pixels.h"

#include <algorithm>
#include <cmath>

namespace spdld::image {
namespace {

constexpr int kHues = 180, kWhite = 255;
constexpr int kShift = 12, kHalf = 1 << (kShift - 1);  // of the quotients

struct Hsv {
  int hue, saturation, value;
};

// Of a number from 1 to 255: `times` divided by it, in units of 2^-kShift, rounded to the nearest.
using Quotients = std::array<int, 256>;
Quotients quotients(double times) {
  Quotients made{};
  for (size_t i = 1; i < made.size(); ++i)
    made[i] = static_cast<int>(std::lrint(times * (1 << kShift) / static_cast<double>(i)));
  return made;
}

Hsv hsv_of(const uint8_t* pixel) {
  static const Quotients of_value = quotients(kWhite), of_range = quotients(kHues / 6.0);
  const int red = pixel[0], green = pixel[1], blue = pixel[2];
  const int value = std::max({red, green, blue}), range = value - std::min({red, green, blue});
  const int along = value == red ? green - blue : value == green ? blue - red + 2 * range : red - green + 4 * range;
  const int hue = (along * of_range[static_cast<size_t>(range)] + kHalf) >> kShift;
  const int saturation = (range * of_value[static_cast<size_t>(value)] + kHalf) >> kShift;
  return {hue < 0 ? hue + kHues : hue, saturation, value};
}

uint8_t byte_of(float unit) { return static_cast<uint8_t>(unit * kWhite); }

void write_rgb(const Hsv& hsv, uint8_t* pixel) {
  const float saturation = static_cast<float>(hsv.saturation) * (1.0F / kWhite);
  const float value = static_cast<float>(hsv.value) * (1.0F / kWhite);
  const float sixths = static_cast<float>(hsv.hue) * (6.0F / kHues);
  const int sector = static_cast<int>(sixths);
  const float within = sixths - static_cast<float>(sector);
  const uint8_t most = byte_of(value), least = byte_of(value * (1 - saturation));
  const uint8_t falling = byte_of(value * (1 - saturation * within));
  const uint8_t rising = byte_of(value * (1 - saturation * (1 - within)));
  const std::array<std::array<uint8_t, 3>, 6> colours = {{{most, rising, least},
                                                          {falling, most, least},
                                                          {least, most, rising},
                                                          {least, falling, most},
                                                          {rising, least, most},
                                                          {most, least, falling}}};
  const auto& colour = colours[static_cast<size_t>(sector % 6)];
  std::copy(colour.begin(), colour.end(), pixel);
}

}  // namespace

HsvTables hsv_tables(const std::array<double, 3>& gains) {
  HsvTables tables;
  for (size_t i = 0; i < tables.hue.size(); ++i) {
    const auto number = static_cast<double>(i);
    tables.hue[i] = static_cast<uint8_t>(std::fmod(number * gains[0], kHues));
    tables.saturation[i] = static_cast<uint8_t>(std::min(number * gains[1], 255.0));
    tables.value[i] = static_cast<uint8_t>(std::min(number * gains[2], 255.0));
  }
  return tables;
}

void map_hsv_of_pixels(const HsvTables& tables, uint8_t* pixels, size_t count) {
  for (uint8_t* pixel = pixels; pixel != pixels + 3 * count; pixel += 3) {
    const Hsv hsv = hsv_of(pixel);
    write_rgb({tables.hue[static_cast<size_t>(hsv.hue)], tables.saturation[static_cast<size_t>(hsv.saturation)],
               tables.value[static_cast<size_t>(hsv.value)]},
              pixel);
  }
}

}  // namespace spdld::image
