// The picture that a HEIF file shows, and its alpha, as the file's boxes tell them: sizes, cells, colours, and where
// the coded data lies (ISO/IEC 23008-12). HEVC's items alone are taken, by themselves or as the cells of a grid; other
// ones are refused by name. Pure functions; any thread. The bytes are not trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/file_items.h"

namespace spdld::image {

inline constexpr char kHeicName[] = "a HEIC";

// Of the "nclx" box, in the numbers of ITU-T H.273.
struct CodedColours {
  uint32_t matrix = 2;  // not told
  bool is_full_range = false;
};

// A picture that is coded as one piece.
struct CodedItem {
  Size size;
  std::span<const uint8_t> header;                // the content of its box "hvcC"
  std::vector<std::span<const uint8_t>> extents;  // its data, in pieces one behind the other
};

// A picture of cells of one size, row by row; of one cell, if it is coded as one piece.
struct CellPicture {
  Size size, cell;  // the last column and row may have more than the picture needs
  int columns = 1, rows = 1;
  std::vector<CodedItem> items;
  std::vector<uint32_t> cells;  // for each cell, its number among the items: a grid may show one several times
  std::optional<CodedColours> colours;
};

struct HeifPicture {
  CellPicture colours;
  std::optional<CellPicture> alpha;
  Box shown;                         // the part of the picture that is to be seen, before it is turned
  int orientation = 1;               // 1 to 8, as EXIF defines it, of the boxes irot and imir
  std::span<const uint8_t> profile;  // ICC; empty: there is none
};

// Errors: kUnsupported for what is not decoded; kContent for damage, and where data lies behind the file's end. Cells
// are looked up where their number and the size of the grid agree. `wants_alpha`: else alpha is not looked at.
Result<HeifPicture> heif_picture(std::span<const uint8_t> bytes, bool wants_alpha);

}  // namespace spdld::image
