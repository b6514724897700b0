#include "daemon/media/image/codecs/bmp/header.h"

#include <algorithm>
#include <bit>
#include <string>

#include "daemon/base/formats/little_endian.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr size_t kBmpFileHeaderBytes = 14, kCoreBytes = 12, kInfoBytes = 40,
                 kMasksAt = kBmpFileHeaderBytes + kInfoBytes;
enum BmpCompression : uint32_t { kBmpRgb = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

Result<BmpMask> mask_of(uint32_t mask) {
  if (mask == 0) return BmpMask{};
  const auto shift = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t greatest = mask >> shift;
  if ((greatest & (greatest + 1)) != 0) return damaged(kBmpName, "the bits of a colour do not lie side by side");
  return BmpMask{shift, greatest};
}

Status read_masks(std::span<const uint8_t> bmp, uint32_t header_bytes, uint32_t compression, BmpHeader& header) {
  std::array<uint32_t, 4> masks = {0x7C00, 0x3E0, 0x1F, 0};
  if (header.bits == 32) masks = {0xFF0000, 0xFF00, 0xFF, 0};
  if (compression == kBitFields || compression == kAlphaBitFields) {
    const bool has_alpha = header_bytes >= 56 || compression == kAlphaBitFields;
    const size_t count = has_alpha ? 4 : 3;
    if (bmp.size() < kMasksAt + 4 * count) return cut_off(kBmpName);
    for (size_t i = 0; i < count; ++i) masks[i] = little_endian(bmp, kMasksAt + 4 * i, 4);
  }
  for (size_t i = 0; i < masks.size(); ++i) {
    const auto mask = mask_of(masks[i]);
    if (!mask) return mask.error();
    header.masks[i] = *mask;
  }
  return Done{};
}

// A palette, and how many entries its header claims; they are three bytes in the oldest header, and four in others.
struct BmpPalette {
  size_t start = 0, entry_bytes = 4, entries = 0;
  size_t end() const { return start + entry_bytes * entries; }
};
BmpPalette palette_of(std::span<const uint8_t> bmp, uint32_t header_bytes, int bits) {
  if (bits > 8) return {kBmpFileHeaderBytes + header_bytes};
  const size_t claimed = header_bytes == kCoreBytes ? 0 : little_endian(bmp, kBmpFileHeaderBytes + 32, 4);
  return {kBmpFileHeaderBytes + header_bytes, header_bytes == kCoreBytes ? size_t{3} : 4,
          claimed == 0 ? size_t{1} << bits : claimed};
}

void read_colours(std::span<const uint8_t> bmp, const BmpPalette& palette, BmpHeader& header) {
  const size_t count = header.bits > 8 ? 0 : std::min(palette.entries, size_t{1} << header.bits);
  for (size_t i = 0; i < count && palette.start + palette.entry_bytes * (i + 1) <= bmp.size(); ++i) {
    const auto colour = bmp.subspan(palette.start + palette.entry_bytes * i, 3);
    header.palette[i] = {colour[2], colour[1], colour[0]};
  }
}

// Where the pixels begin. Some writers leave the place out, or take the header's end for it although a palette follows.
// A place elsewhere within the palette is taken as it is, as Pillow does.
Result<size_t> pixels_place(std::span<const uint8_t> bmp, uint32_t header_bytes, uint32_t compression,
                            const BmpPalette& palette) {
  const size_t told = little_endian(bmp, 10, 4), header_end = kBmpFileHeaderBytes + header_bytes;
  if (told == header_end) return palette.end();
  if (told != 0 && told < header_end) return damaged(kBmpName, "its pixels lie in its header");
  if (told != 0) return told;
  const bool has_masks_behind = header_bytes == kInfoBytes && compression >= kBitFields;
  const size_t masks = !has_masks_behind ? 0 : compression == kAlphaBitFields ? 16 : 12;
  return palette.end() + masks;
}

// The size, the depth and the compression. Heights below zero are of pictures whose first row is the uppermost one.
Result<uint32_t> read_info(std::span<const uint8_t> bmp, uint32_t header_bytes, BmpHeader& header) {
  if (header_bytes == kCoreBytes) {
    header.width = little_endian(bmp, 18, 2);
    header.height = little_endian(bmp, 20, 2);
    header.bits = static_cast<int>(little_endian(bmp, 24, 2));
    return uint32_t{kBmpRgb};
  }
  header.width = little_endian(bmp, 18, 4);
  header.height = little_endian(bmp, 22, 4);
  header.top_down = (header.height & 0x80000000u) != 0;
  if (header.top_down) header.height = ~header.height + 1;
  header.bits = static_cast<int>(little_endian(bmp, 28, 2));
  return little_endian(bmp, 30, 4);
}

// OS/2 has others under some numbers.
const char* words_of_compression(uint32_t compression, bool is_of_os2) {
  switch (compression) {
    case 3:
      return "Huffman codes (OS/2)";
    case 4:
      return is_of_os2 ? "run lengths of 24 bits (OS/2)" : "JPEG data";
    case 5:
      return "PNG data";
    case 11:
    case 12:
    case 13:
      return "CMYK colours";
    default:
      return "a compression that is not known";
  }
}

Status check_kind(uint32_t compression, uint32_t header_bytes, BmpHeader& header) {
  constexpr uint32_t kOs2Bytes = 64;
  const int bits = header.bits;
  if (header.width == 0 || header.height == 0 || header.width > INT32_MAX || header.height > INT32_MAX)
    return damaged(kBmpName, "its header claims no pixels");
  const bool is_coded = compression == kRle8 || compression == kRle4;
  const bool has_masks = compression == kBitFields || compression == kAlphaBitFields;
  if ((compression != kBmpRgb && !is_coded && !has_masks) || (has_masks && header_bytes == kOs2Bytes))
    return not_decoded(kBmpName, words_of_compression(compression, header_bytes == kOs2Bytes));
  const bool is_known = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  const bool fits = is_coded ? bits == (compression == kRle8 ? 8 : 4) && !header.top_down : !has_masks || bits >= 16;
  if (!is_known || !fits) return damaged(kBmpName, "its header says what no BMP's header says");
  header.run_length = is_coded;
  return Done{};
}

}  // namespace

Result<BmpHeader> bmp_header_of(std::span<const uint8_t> bmp) {
  if (bmp.size() < kBmpFileHeaderBytes + kCoreBytes) return cut_off(kBmpName);
  const uint32_t header_bytes = little_endian(bmp, kBmpFileHeaderBytes, 4);
  if (header_bytes != kCoreBytes && header_bytes < kInfoBytes) return damaged(kBmpName, "its header is too short");
  if (header_bytes > bmp.size() - kBmpFileHeaderBytes) return cut_off(kBmpName);
  BmpHeader header;
  const auto compression = read_info(bmp, header_bytes, header);
  if (const Status sound = check_kind(*compression, header_bytes, header); !sound) return sound.error();
  const Claim claim{kBmpName, header.width, header.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  const BmpPalette palette = palette_of(bmp, header_bytes, header.bits);
  const auto pixels_at = pixels_place(bmp, header_bytes, *compression, palette);
  if (!pixels_at) return pixels_at.error();
  if (*pixels_at >= bmp.size()) return cut_off(kBmpName);
  header.pixels = bmp.subspan(*pixels_at);
  read_colours(bmp, palette, header);
  if (header.bits == 16 || header.bits == 32) {
    if (const Status read = read_masks(bmp, header_bytes, *compression, header); !read) return read.error();
  }
  if (header.run_length) {
    constexpr uint64_t kPixelsPerByte = 128;  // 255 pixels in two bytes
    if (uint64_t{header.width} * header.height > header.pixels.size() * kPixelsPerByte)
      return claim.exceeds(header.pixels.size(), ", more than its ", "can hold");
  } else if (header.row_bytes() * header.height > header.pixels.size()) {
    return cut_off(kBmpName);
  }
  return header;
}

}  // namespace spdld::image
