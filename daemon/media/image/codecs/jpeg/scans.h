// The structure of a JPEG's coded data, found without decoding it: where its scans are, and what decoding them will
// cost at the least. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <span>

namespace spdld::image {

struct Scans {
  int count = 1;
  // Only restart markers and the end marker follow the first scan's start: whatever damage the coded data has, libjpeg
  // reads exactly to the end marker, and refuses nothing.
  bool is_plain = false;
  bool has_end = false;       // an end marker follows
  uint64_t block_visits = 0;  // how often libjpeg will touch a block of 8 x 8 samples; dear visits count several times
};

// The first place from `at` on where 0xFF stands before a byte other than 0; without one, the last byte's or `at`.
size_t next_marker(std::span<const uint8_t> bytes, size_t at);

// `coded`: the bytes behind the first scan's header, at which `jpeg` stands. Reads on to the end marker at the most.
Scans find_scans(const jpeg_decompress_struct& jpeg, std::span<const uint8_t> coded);

// Huffman coding spends at least some bits on a block, so that the coded bytes bound how many visits to blocks are
// honest: libjpeg's own encoder makes at most some 60 visits a byte (of flat grey pictures). Arithmetic coding can put
// any number of flat blocks into some bytes; for such a picture there are the visits that are free: one to each block
// of the largest picture allowed, in three components.
inline constexpr uint64_t kVisitsPerByte = 192;
inline constexpr uint64_t kFreeVisits = uint64_t{1} << 23;

}  // namespace spdld::image
