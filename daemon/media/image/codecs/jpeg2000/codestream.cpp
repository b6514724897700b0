#include "daemon/media/image/codecs/jpeg2000/codestream.h"

#include <algorithm>
#include <array>
#include <string>

#include "daemon/media/image/codecs/file_boxes.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

// The worst that the headers of the whole and of its tiles say.
struct Pieces {
  uint32_t layers = 1, levels = 0;
  uint32_t block_x = 10, block_y = 10;        // log2 of a code-block's sides
  uint32_t precinct_x = 15, precinct_y = 15;  // log2 of a precinct's sides
};

// The part that COD and COC share: levels, code-blocks, and precincts where `flags` says so.
void add_style(Span style, uint32_t flags, Pieces& pieces) {
  constexpr uint32_t kLevelsMax = 32;
  const uint32_t levels = std::min(box_number(style, 0, 1), kLevelsMax);
  pieces.levels = std::max(pieces.levels, levels);
  pieces.block_x = std::min(pieces.block_x, (box_number(style, 1, 1) & 15) + 2);
  pieces.block_y = std::min(pieces.block_y, (box_number(style, 2, 1) & 15) + 2);
  for (uint32_t i = 0; (flags & 1) != 0 && i <= levels; ++i) {
    const uint32_t sides = box_number(style, 5 + i, 1);
    pieces.precinct_x = std::min(pieces.precinct_x, sides & 15);
    pieces.precinct_y = std::min(pieces.precinct_y, sides >> 4);
  }
}

constexpr uint32_t kSize = 0xFF51, kCod = 0xFF52, kCoc = 0xFF53, kTile = 0xFF90, kData = 0xFF93, kEnd = 0xFFD9;

// Reads all marker segments from `at` on, up to the first tile or a tile's data. Gives the place of that marker.
size_t add_segments(Span code, size_t at, Pieces& pieces) {
  constexpr size_t kMarker = 2, kLength = 2;
  while (at + kMarker + kLength <= code.size()) {
    const uint32_t marker = box_number(code, at, 2), length = box_number(code, at + kMarker, 2);
    if (marker == kTile || marker == kData || marker == kEnd || marker < 0xFF00 || length < kLength) break;
    const Span segment = code.subspan(std::min(at + kMarker + kLength, code.size()));
    if (marker == kCod) {
      pieces.layers = std::max(pieces.layers, box_number(segment, 2, 2));
      add_style(segment.subspan(std::min<size_t>(5, segment.size())), box_number(segment, 0, 1), pieces);
    } else if (marker == kCoc) {
      add_style(segment.subspan(std::min<size_t>(2, segment.size())), box_number(segment, 1, 1), pieces);
    }
    at += kMarker + length;
  }
  return at;
}

// The pieces of all tiles. A tile whose length is not told reaches to the end.
Pieces pieces_of(Span code) {
  constexpr size_t kTileHeader = 12;
  Pieces pieces;
  size_t at = add_segments(code, 2, pieces);
  while (at + kTileHeader <= code.size() && box_number(code, at, 2) == kTile) {
    const uint32_t length = box_number(code, at + 6, 4);
    add_segments(code, at + kTileHeader, pieces);
    if (length < kTileHeader) break;
    at += length;
  }
  return pieces;
}

// The most precincts that a component of a tile has in all its resolutions: one more at each edge, where a tile
// starts within a precinct.
struct Precincts {
  uint64_t all = 0, most = 0;  // of one resolution
};
Precincts precincts_of(const Jpeg2000Head& head, const Pieces& pieces) {
  Precincts count;
  for (uint32_t level = 0; level <= pieces.levels; ++level) {
    const uint64_t across = (uint64_t{head.tile_width} >> level >> pieces.precinct_x) + 2;
    const uint64_t down = (uint64_t{head.tile_height} >> level >> pieces.precinct_y) + 2;
    count.all += across * down;
    count.most = std::max(count.most, across * down);
  }
  return count;
}

// OpenJPEG's memory for a tile's pieces, by its own structures' sizes, generously: precincts of three bands with two
// trees each, code-blocks with their segments, and a mark for each packet.
uint64_t tile_bytes_of(const Jpeg2000Head& head, const Pieces& pieces, const Precincts& precincts) {
  constexpr uint64_t kPrecinctBytes = 1024, kBlockBytes = 512, kMarkBytes = 2;
  const auto components = static_cast<uint64_t>(head.components);
  const uint64_t samples = uint64_t{head.tile_width} * head.tile_height * components;
  const auto within = [](uint32_t block, uint32_t precinct) {
    return std::min(block, precinct == 0 ? 0 : precinct - 1);
  };
  const uint32_t block = within(pieces.block_x, pieces.precinct_x) + within(pieces.block_y, pieces.precinct_y);
  return components * precincts.all * kPrecinctBytes + (samples * 2 >> block) * kBlockBytes +
         (pieces.levels + 1) * components * precincts.most * pieces.layers * kMarkBytes;
}

// The size, the tiles and the components (SIZ).
Result<Jpeg2000Head> read_size(Span code) {
  constexpr size_t kFixed = 2 + 2 + 38, kComponents = 4;
  if (code.size() < kFixed || box_number(code, 2, 2) != kSize)
    return damaged(kJpeg2000Name, "its codestream begins without a size");
  const uint32_t right = box_number(code, 8, 4), bottom = box_number(code, 12, 4), left = box_number(code, 16, 4),
                 top = box_number(code, 20, 4), across = box_number(code, 24, 4), down = box_number(code, 28, 4),
                 tile_left = box_number(code, 32, 4), tile_top = box_number(code, 36, 4),
                 components = box_number(code, 40, 2);
  if (right <= left || bottom <= top || across == 0 || down == 0 || tile_left > left || tile_top > top ||
      components == 0)
    return damaged(kJpeg2000Name, "its header says what no JPEG 2000's header says");
  if (components > kComponents) return not_decoded(kJpeg2000Name, std::to_string(components) + " components");
  Jpeg2000Head head;
  head.width = right - left;
  head.height = bottom - top;
  head.tile_width = std::min(across, head.width);
  head.tile_height = std::min(down, head.height);
  const auto pieces = [](uint32_t end, uint32_t start, uint32_t side) {
    return (uint64_t{end} - start + side - 1) / side;
  };
  head.tiles = pieces(right, tile_left, across) * pieces(bottom, tile_top, down);
  head.components = static_cast<int>(components);
  for (size_t i = 0; i < components; ++i)
    head.bits = std::max(head.bits, static_cast<int>(box_number(code, kFixed + 3 * i, 1) & 0x7F) + 1);
  head.channels = head.components;
  return head;
}

// ISO/IEC 15444-1, table I.10, and 15444-2, table M.25: what the components mean.
Status check_colours(uint32_t number) {
  struct Colours {
    uint32_t number;
    const char* name;  // null: they are decoded
  };
  constexpr std::array<Colours, 19> kColours = {{{15, nullptr},  // of one bit, where 0 is black
                                                 {16, nullptr},  // sRGB
                                                 {17, nullptr},  // grey
                                                 {18, nullptr},  // sYCC
                                                 {0, "colours of one bit where 0 is white"},
                                                 {1, "YCbCr colours of ITU-R BT.709"},
                                                 {3, "YCbCr colours of ITU-R BT.601"},
                                                 {4, "YCbCr colours of ITU-R BT.601"},
                                                 {9, "PhotoYCC colours"},
                                                 {11, "CMY colours"},
                                                 {12, "CMYK colours"},
                                                 {13, "YCCK colours"},
                                                 {14, "CIELab colours"},
                                                 {19, "CIEJab colours"},
                                                 {20, "e-sRGB colours"},
                                                 {21, "ROMM-RGB colours"},
                                                 {22, "YPbPr colours"},
                                                 {23, "YPbPr colours"},
                                                 {24, "e-sYCC colours"}}};
  const auto found =
      std::find_if(kColours.begin(), kColours.end(), [&](const Colours& colours) { return colours.number == number; });
  if (found == kColours.end()) return not_decoded(kJpeg2000Name, "colours of a kind that JPEG 2000 does not define");
  return found->name == nullptr ? Status(Done{}) : not_decoded(kJpeg2000Name, found->name);
}

// An ICC profile says for which colours it is (ICC.1, 7.2.6).
Status check_profile(Span profile) {
  constexpr size_t kColoursAt = 16, kHeadBytes = 128;
  const uint32_t colours = box_number(profile, kColoursAt, 4);
  if (profile.size() < kHeadBytes || colours == box_kind("RGB ") || colours == box_kind("GRAY")) return Done{};
  if (colours == box_kind("CMYK")) return not_decoded(kJpeg2000Name, "CMYK colours");
  if (colours == box_kind("Lab ")) return not_decoded(kJpeg2000Name, "CIELab colours");
  return not_decoded(kJpeg2000Name, "colours that are neither RGB nor grey");
}

// The first box of colours that OpenJPEG knows counts.
Status read_colours(Span boxes, Jpeg2000Head& head) {
  constexpr uint32_t kByNumber = 1, kByProfile = 2, kByAnyProfile = 3;
  constexpr size_t kNumberAt = 3;
  while (const auto box = first_box(boxes)) {
    boxes = boxes.subspan(box->whole_bytes);
    const uint32_t method = box_number(box->content, 0, 1);
    if (box->kind != box_kind("colr") || box->content.size() < kNumberAt) continue;
    if (method == kByNumber) return check_colours(box_number(box->content, kNumberAt, 4));
    if (method != kByProfile && method != kByAnyProfile) continue;
    head.profile = box->content.subspan(kNumberAt);
    return check_profile(head.profile);
  }
  return Done{};
}

// The boxes that change what the components mean.
Status read_boxes(Span boxes, Jpeg2000Head& head) {
  constexpr uint32_t kChannels = 4;
  if (const Status known = read_colours(boxes, head); !known) return known;
  const Span palette = find_box(boxes, box_kind("pclr"));
  if (palette.empty()) return Done{};
  const uint32_t columns = box_number(palette, 2, 1);
  if (columns == 0 || columns > kChannels)
    return not_decoded(kJpeg2000Name, "a palette of " + std::to_string(columns) + " columns");
  head.channels = std::max(head.channels, static_cast<int>(columns));
  for (size_t i = 0; i < columns; ++i)
    head.bits = std::max(head.bits, static_cast<int>(box_number(palette, 3 + i, 1) & 0x7F) + 1);
  return Done{};
}

// Each tile has a header of 14 bytes at least, and each packet a byte.
Status check_claims(const Jpeg2000Head& head, const Pieces& pieces, const Precincts& precincts, size_t coded_bytes) {
  constexpr uint64_t kTileBytes = 14;
  constexpr uint64_t kEdges = 16;  // the count of precincts may be so many times too large
  const Claim claim{kJpeg2000Name, head.width, head.height};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough;
  if (head.tiles * kTileBytes > coded_bytes)
    return claim.exceeds(coded_bytes, " in " + std::to_string(head.tiles) + " tiles, more than its ", "can hold");
  const uint64_t packets = static_cast<uint64_t>(head.components) * precincts.all * pieces.layers;
  if (packets > coded_bytes * kEdges)
    return claim.exceeds(coded_bytes, " in " + std::to_string(packets) + " packets, more than its ", "can hold");
  return Done{};
}

}  // namespace

Result<Jpeg2000Head> read_jpeg2000_head(std::span<const uint8_t> bytes) {
  constexpr int kBitsMax = 16;
  const bool has_boxes = box_number(bytes, 0, 2) != 0xFF4F;
  const Span code = has_boxes ? find_box(bytes, box_kind("jp2c")) : bytes;
  if (code.empty()) return cut_off(kJpeg2000Name);
  auto head = read_size(code);
  if (!head) return head.error();
  head->has_boxes = has_boxes;
  if (const Status known = read_boxes(find_box(bytes, box_kind("jp2h")), *head); has_boxes && !known)
    return known.error();
  if (head->bits > kBitsMax) return not_decoded(kJpeg2000Name, "samples of " + std::to_string(head->bits) + " bits");
  const Pieces pieces = pieces_of(code);
  const Precincts precincts = precincts_of(*head, pieces);
  if (const Status sound = check_claims(*head, pieces, precincts, code.size()); !sound) return sound.error();
  head->tile_bytes = tile_bytes_of(*head, pieces, precincts);
  return head;
}

}  // namespace spdld::image
