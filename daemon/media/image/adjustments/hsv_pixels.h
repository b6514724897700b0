// Hue, saturation and value of pixels of 8 bits as OpenCV has them (COLOR_RGB2HSV and COLOR_HSV2RGB of uint8): a hue
// has 180 steps. On the way to HSV numbers are rounded to the nearest, and on the way back fractions are cut off, as
// OpenCV's vectorised code does it. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spdld::image {

// A new number for each hue below 180, each saturation, and each value.
struct HsvTables {
  std::array<uint8_t, 256> hue, saturation, value;
};
// Each number times its gain, without the fraction: hues go around, and the others end at 255. Gains are at least 0.
HsvTables hsv_tables(const std::array<double, 3>& gains);

// `count` pixels of red, green and blue.
void map_hsv_of_pixels(const HsvTables& tables, uint8_t* pixels, size_t count);

}  // namespace spdld::image
