// The rows of a part of a picture by libjpeg, upsampled and converted to RGB or grey. Called inside Codec::attempt():
// nothing here has a destructor. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include "daemon/base/picture.h"

namespace spdld::image {

// The columns and rows of a stored picture that are to come out of libjpeg.
struct Portion {
  Box box;              // needed
  bool is_grey;         // luma is wanted, not colours
  JDIMENSION x, width;  // decoded: whole blocks around it
};

// Starts the decoder and moves it to the portion's first row, leaving out what is to its left, right and top.
void start_portion(jpeg_decompress_struct& jpeg, Portion& portion);

struct PortionTarget {
  uint8_t* first;  // of the portion's box's first row
  size_t stride_bytes;
  const Portion& portion;
  uint8_t* line;  // one row of CMYK, and one of RGB behind it
};
inline constexpr size_t kLineBytes = 4 + 3;  // of a pixel

// Reads the portion's rows. Rows above it land where its first row will be.
void read_portion(jpeg_decompress_struct& jpeg, PortionTarget& target);
// Decodes what is below the portion, and looks for damage there.
void read_below_portion(jpeg_decompress_struct& jpeg, PortionTarget& target);

}  // namespace spdld::image
