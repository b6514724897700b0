// The loops of PlanesRows over a row, for each instruction set: bit for bit as libjpeg computes them, with whole
// numbers alone. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spdld::image {

// How many values behind the last one the first two functions may read and write.
inline constexpr size_t kRowSlack = 32;

// Between two rows of chroma of half the height: out[i] = 3 * own[i] + next[i], four times a sample.
void mix_rows(const uint8_t* own, const uint8_t* next, size_t count, uint16_t* out);

// Pixels of chroma of half the width: 3/4 of their own sample and 1/4 of the next one, with libjpeg's roundings. Each
// of samples[0] to samples[count - 1] becomes two pixels, which are the bytes of out[i]; samples[-1] and samples[count]
// are read, too. `mixed`: the samples are four times too large, by mix_rows().
void widen_row(const uint16_t* samples, size_t count, bool mixed, uint16_t* out);

// Full-range BT.601 (jdcolor.c) to interleaved RGB.
void rgb_row(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, size_t count, uint8_t* out);

}  // namespace spdld::image
