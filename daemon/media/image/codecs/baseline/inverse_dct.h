// The inverse DCT of libjpeg's accurate integer method ("islow": C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical
// fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989, in 32-bit integers with 13 bits of fraction and two
// bits kept between the passes), bit for bit as libjpeg-turbo's vector code gives it. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::baseline {

// Blocks that lie beside one another are transformed together, a group at a time. A group holds their coefficients so:
// the first row of each block, the second row of each, and so on, and behind them a row for what nobody reads.
size_t blocks_in_group();  // 1, 2 or 4, by the machine's vectors; 0: it has none for this
inline constexpr size_t kGroupBlocksMax = 4;
inline constexpr size_t kGroupRows = 9;
inline constexpr size_t kGroupAlignment = 64;  // bytes
inline constexpr size_t group_samples(size_t blocks) { return kGroupRows * kBlockSide * blocks; }
// Where the first group begins in memory that has kGroupSlack values more than the groups take.
inline constexpr size_t kGroupSlack = kGroupAlignment / sizeof(int16_t);
inline int16_t* first_group(int16_t* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return memory + (kGroupAlignment - address % kGroupAlignment) % kGroupAlignment / sizeof(int16_t);
}
// The first coefficient of a block, counted from the first group's first one on.
inline int16_t* block_in(int16_t* groups, size_t block, size_t in_group) {
  return groups + block / in_group * group_samples(in_group) + block % in_group * kBlockSide;
}

// Values beyond these are left to libjpeg, where they do not all come out the same.
inline constexpr int kDcMax = 8191, kDcMin = -8192;

struct BlockRow {
  int16_t* groups;                                   // aligned to kGroupAlignment; set to zero on the way
  std::span<const uint8_t> last;                     // of each block: the place of its last coefficient
  const std::array<uint16_t, kBlockSamples>& steps;  // of quantisation
  std::array<uint8_t*, kBlockSide> rows;             // where the first block's samples go
};

// Transforms last.size() blocks. False: a coefficient is beyond the bounds, and nothing is said about the samples.
[[nodiscard]] bool transform(const BlockRow& row);

}  // namespace spdld::image::baseline
