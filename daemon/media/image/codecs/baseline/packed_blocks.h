// The coefficients of a picture's blocks, packed so that any block is found and unpacked without its neighbours.
// Nothing is lost: a picture has the same samples from them as from the JPEG.
//
// A row of blocks of one component lies in one piece. Numbers have their lowest byte first. The row begins with a head
// of each block, four bytes. Then comes for every kSpanBlocks blocks where their values begin, four bytes, counted from
// the first value of the row on; then of each block its DC coefficient, two bytes; and then the values, block by block.
//
// A block has eight groups of eight coefficients: of each pair of its rows the left four columns, then the right four.
// The head has four bits for each group, from the lowest on: how many bits each value of the group takes, its sign
// among them. A group so takes as many bytes. The DC coefficient counts as 0 in its group.
//
// A reader trusts nothing of this: places are checked, and values are only samples. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::baseline {

inline constexpr size_t kSpanBlocks = 16;
inline constexpr size_t kPackedGroups = 8;       // of a block
inline constexpr int kPackedBitsMax = 12;        // of a value; 11 bits take 12
inline constexpr size_t kPackedSlackBytes = 16;  // that may be read behind the last value, or written

// The sizes of the parts of a row.
struct PackedRowParts {
  size_t heads = 0, places = 0, dcs = 0;  // bytes
  explicit PackedRowParts(size_t blocks)
      : heads(blocks * sizeof(uint32_t)),
        places((blocks + kSpanBlocks - 1) / kSpanBlocks * sizeof(uint32_t)),
        dcs(blocks * sizeof(int16_t)) {}
  size_t bytes() const { return heads + places + dcs; }
};

// A row in memory: its parts, and the values up to where others' begin or less. kPackedSlackBytes lie behind them.
struct PackedRow {
  std::span<const uint8_t> heads, places, dcs, values;
};

// The bytes that the values of a block take.
inline size_t value_bytes(uint32_t head) {
  const uint32_t pairs = (head & 0x0F0F0F0F) + (head >> 4 & 0x0F0F0F0F);
  return pairs * 0x01010101 >> 24;
}

// Packs a block whose rows lie `stride` values apart. Its values go to `values`, and up to kPackedSlackBytes behind
// them are written. None: a value has more bits than can be packed.
inline constexpr size_t kPackedBytesMax = kPackedGroups * kPackedBitsMax;  // of a block's values
std::optional<uint32_t> pack_block(const int16_t* block, size_t stride, uint8_t* values);

// Unpacks the blocks [first, end) of a row into groups, as inverse_dct.h has them: `groups` holds zeroes. Of each
// block `last` gets a number that lets the transform leave out what the place of the last coefficient would: 0 where
// there is DC alone. False: values would lie outside of the row.
[[nodiscard]] bool unpack_blocks(const PackedRow& row, size_t first, size_t end, int16_t* groups, uint8_t* last);

}  // namespace spdld::image::baseline
