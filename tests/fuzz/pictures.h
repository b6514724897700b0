// What the fuzzers of the picture decoders share: the box that an input chooses, and the promises of PixelRows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/pixels.h"

namespace spdld::fuzz {

inline constexpr int kSideMax = 2000;  // larger pictures say nothing new, slowly

inline bool is_too_large(const Size& size) { return size.width > kSideMax || size.height > kSideMax; }

// Ends the program where a promise is broken, and says which.
inline void require(bool is_kept, const char* promise) {
  if (is_kept) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

// A box inside of the picture; `choice` has four bytes.
inline Box choose_box(const Size& size, const uint8_t* choice) {
  const auto place = [](int side, uint8_t from, uint8_t share) {
    const int start = side * from / 256;
    return std::pair(start, std::max(1, (side - start) * share / 256));
  };
  const auto [x, width] = place(size.width, choice[0], choice[1]);
  const auto [y, height] = place(size.height, choice[2], choice[3]);
  return {x, y, width, height};
}

// Ends the program where the rows do not cover the box. Reads every byte that PixelRows promises, so that the
// sanitizers see them.
inline void check_rows(const PixelRows& rows, const Box& box) {
  const Box& covers = rows.covers;
  require(covers.x <= box.x && covers.y <= box.y && covers.x + covers.width >= box.x + box.width &&
              covers.y + covers.height >= box.y + box.height,
          "rows: they do not cover the box");
  const size_t row_bytes = static_cast<size_t>(covers.width) * static_cast<size_t>(rows.format.pixel_bytes());
  unsigned sum = 0;
  for (int y = covers.y; y < covers.y + covers.height; ++y) {
    const uint8_t* row = rows.row(y);
    for (size_t i = 0; i < row_bytes + PixelRows::kSlackBytes; ++i) sum += row[i];
  }
  volatile unsigned sink = sum;
  (void)sink;
}

// The pixels that bits 2 to 4 of a byte ask for.
inline image::Pixels choose_pixels(uint8_t choice) {
  return {static_cast<image::Colours>(choice >> 2 & 3), (choice & 16) != 0 ? 16 : 8};
}

// Ends the program where `area` of the rows has other pixels than the whole picture.
inline void compare_area(const PixelRows& rows, const PixelRows& whole, const Box& area) {
  const ptrdiff_t pixel = rows.format.pixel_bytes();
  require(rows.format == whole.format, "rows: a box has another format");
  for (int y = area.y; y < area.y + area.height; ++y) {
    const uint8_t* had = rows.row(y) + pixel * (area.x - rows.covers.x);
    const uint8_t* wanted = whole.row(y) + pixel * (area.x - whole.covers.x);
    require(std::memcmp(had, wanted, static_cast<size_t>(pixel * area.width)) == 0, "rows: a box has other pixels");
  }
}

// Ends the program where what is decoded for the box has other pixels than the whole picture.
inline void compare(const PixelRows& rows, const PixelRows& whole, const Box& box) {
  check_rows(rows, box);
  compare_area(rows, whole, rows.covers);
}

}  // namespace spdld::fuzz
