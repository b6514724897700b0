// Makes PNGs for tests, by zlib alone, with the pixels that a decoder must give of them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spdld::test {

struct PngOptions {
  int colour = 2;  // 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGB with alpha
  int depth = 8;   // bits of a sample
  bool interlaced = false;
  int filter = -1;            // of every row: 0 to 4; -1: all in turn
  int palette_entries = 0;    // 0: as many as `depth` can name
  size_t data_bytes_max = 0;  // of an IDAT chunk; 0: one chunk holds all
  bool flat = false;          // all samples are equal
  uint32_t seed = 1;
};

struct MadePng {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> rgb;        // 3 * width bytes a row: samples as 8 bits, without alpha
  std::vector<int> first_samples;  // of each pixel, as stored: red, grey, or the number of a palette's colour
};

MadePng make_png(int width, int height, const PngOptions& options = {});

// All pairs of colour and depth that PNG has.
struct PngKind {
  int colour, depth;
};
inline constexpr PngKind kPngKinds[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                                        {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};

// A chunk with its length and its checksum.
std::vector<uint8_t> png_chunk(std::string_view type, std::span<const uint8_t> content);
// Where the first chunk of this type begins; the picture's size where there is none.
size_t find_png_chunk(const std::vector<uint8_t>& png, std::string_view type);
// Puts `chunk` before the first chunk of type `before`.
void insert_png_chunk(std::vector<uint8_t>& png, std::string_view before, const std::vector<uint8_t>& chunk);
// The header's size, with a right checksum.
void claim_png_size(std::vector<uint8_t>& png, uint32_t width, uint32_t height);
// An eXIf chunk that tells this orientation.
std::vector<uint8_t> exif_png_chunk(int orientation, bool big_endian = false, bool named = false);

}  // namespace spdld::test
