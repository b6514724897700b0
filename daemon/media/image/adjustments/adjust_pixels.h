// The loops of adjustments that look at more of a picture than one value of one channel, on rows of 8 bits without
// gaps. The formulas come from torchvision v2 (transforms/v2/functional/_color.py and _misc.py) in float32. Pure
// functions; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/media/image/adjustments/adjustment.h"

namespace spdld::image {

inline constexpr float kWhiteValue = 255;

// A value of 8 bits: what lies beyond black or white is cut off, and so is a fraction.
inline uint8_t value_of(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, kWhiteValue)); }
// A value of 8 bits, of a value whose white is 1, as torchvision goes from floats to uint8: all of the 256 values have
// the same share.
inline uint8_t value_of_unit(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 1.0F) * 255.999F); }

using ValueTable = std::array<uint8_t, 256>;

// A new value for each value, by channel: channel i of the result is table[i] of channel order[i]. Of a grey picture
// only the first is used.
struct PointTables {
  std::array<ValueTable, 3> table;
  std::array<uint8_t, 3> order;
};
void map_values(const PointTables& tables, const AdjustedPicture& picture);

// The mean of torchvision's grey, 0.2989 red + 0.587 green + 0.114 blue rounded down, or of a grey picture.
float grey_mean(const AdjustedPicture& picture);
// How often each value occurs, of each channel.
using Histogram = std::array<uint32_t, 256>;
std::array<Histogram, 3> histograms(const AdjustedPicture& picture);

// Precondition of these: three channels.
void make_grey(const AdjustedPicture& picture);
void saturate(const AdjustedPicture& picture, double factor);
void turn_hue(const AdjustedPicture& picture, float turn);
// Keeps the first channel of each pixel alone.
void keep_one_channel(AdjustedPicture& picture);

// `copy` is the same picture in other memory.
void sharpen(const AdjustedPicture& picture, const uint8_t* copy, double factor);

// The weights of a Gaussian at `weights.size()` places; their sum is 1.
void fill_gaussian(double sigma, std::span<float> weights);
// Rows and columns outside of the picture are reflected at its border. `row` is memory.
void blur(const AdjustedPicture& picture, const uint8_t* copy, std::span<const float> across,
          std::span<const float> down, std::vector<float>& row);

void add_noise(const AdjustedPicture& picture, const NoiseTable& noise, uint64_t seed);

}  // namespace spdld::image
