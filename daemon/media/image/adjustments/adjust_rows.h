// The loops of adjustments that compute most, for each instruction set. All sets give the same values, since products
// and sums are rounded one by one. The formulas come from torchvision v2 (transforms/v2/functional/_color.py and
// _misc.py) in float32. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spdld::image {

// --- `count` pixels of red, green and blue, of 8 bits each ---

// The sum of their greys, 0.2989 red + 0.587 green + 0.114 blue rounded down.
uint64_t grey_sum(const uint8_t* pixels, size_t count);
void make_grey_pixels(uint8_t* pixels, size_t count);
// by * value + rest * grey.
void saturate_pixels(uint8_t* pixels, size_t count, float by, float rest);
// `turn`: parts of a turn.
void turn_hue_of_pixels(uint8_t* pixels, size_t count, float turn);

// --- `count` values ---

// The values of one column in three rows, and how far it is from a value to the next pixel's. The row `at` has a pixel
// before the first value and behind the last one.
struct SharpenedRow {
  const uint8_t *above, *at, *below;
  size_t step, count;
};
// value + rest * (blurred - value), where the blurred value is (the eight neighbours + 5 of the pixel itself) / 13.
void sharpen_row(const SharpenedRow& row, float rest, uint8_t* out);

// out[i]: the sum of weights[k] * rows[k][i], from the first to the last. There are as many rows as weights.
void weigh_rows(std::span<const uint8_t* const> rows, std::span<const float> weights, size_t count, float* out);
void weigh_rows(std::span<const float* const> rows, std::span<const float> weights, size_t count, float* out);
// out[i]: the sum of weights[k] * from[i + k * step]; as bytes, to the nearest and within 0 to 255.
void weigh_line(const float* from, size_t step, std::span<const float> weights, size_t count, float* out);
void weigh_line(const float* from, size_t step, std::span<const float> weights, size_t count, uint8_t* out);

}  // namespace spdld::image
