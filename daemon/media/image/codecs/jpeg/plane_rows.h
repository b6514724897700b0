// Where the rows of a picture's planes go, by either decoder. Nothing here has a destructor or throws. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

inline constexpr size_t kPlanesMax = 3;
inline constexpr size_t kPlaneRowsMax = 4 * 8;  // of one component in a row of MCUs

// Of each plane, rows that follow one another; `first` is the number of the first one.
struct PlaneRows {
  std::array<std::array<uint8_t*, kPlaneRowsMax>, kPlanesMax> rows{};
  std::array<int, kPlanesMax> count{}, first{};
};

// Points at the rows in the planes themselves, beginning at the pixel `x` of the picture. Rows below a plane, which
// only fill its last row of blocks, go to `spare`, which is as long as a row of luma.
void point_at(const PlanesShape& shape, const PlanesLayout& layout, uint8_t* memory, int x, uint8_t* spare,
              PlaneRows& rows);

// From the rows to their places in the planes, with zeroes behind each row's last sample. They are written past the
// cache: kept planes are read again in an epoch, and what they would push out sooner. Each row is aligned as the planes
// are, and layout.stride_bytes long.
void keep_rows(const PlanesShape& shape, const PlanesLayout& layout, const PlaneRows& rows, uint8_t* memory);
// Behind the last rows: the zeroes that end the memory. Other threads see what was kept only after this.
void end_kept_rows(const PlanesLayout& layout, uint8_t* memory);

// A box with one more chroma sample to each side: the neighbours that its upsampling needs.
Box with_neighbours(const Box& box, const PlanesShape& shape);

}  // namespace spdld::image
