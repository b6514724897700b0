// The loops of FixedResampler over a row, for each instruction set. All sums are exact, so that all sets give the same
// values. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/media/image/kernels/resample_fixed.h"

namespace spdld::image {

// Resamples a row of pixels of 1, 3 or 4 channels across. `row`: the sample at axis.range().first. `split`: the weights
// of `axis`. Reads up to cross_slack(split) bytes behind the row, whatever they are, and writes up to kCrossSlack bytes
// behind the wanted pixels.
void cross_row(const FixedWeights& axis, const SplitWeights& split, int channels, const uint8_t* row, uint8_t* out);
inline constexpr size_t kCrossSlack = 16;
inline size_t cross_slack(const SplitWeights& split) { return static_cast<size_t>(split.groups()) * 16 + kCrossSlack; }
// sums[i] += weight * line[i].
void add_line(const uint8_t* line, int32_t weight, size_t count, int32_t* sums);
// To the nearest, and within 0 to 255, of sums that began with half of one.
void round_sums(const int32_t* sums, size_t count, uint8_t* out);

inline constexpr int32_t kHalfSum = 1 << (FixedWeights::kFractionBits - 1);

}  // namespace spdld::image
