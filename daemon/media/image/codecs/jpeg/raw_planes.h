// A picture's planes by libjpeg's raw output: the samples as they leave the inverse DCT, neither upsampled nor
// converted. Called inside Codec::attempt(): nothing here has a destructor. One thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <array>
#include <optional>

#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

// The shapes that ImageDecoder::planes() gives for a stored picture whose header was read, for the reductions 1, 2, 4
// and 8.
using PlanesShapes = std::array<std::optional<PlanesShape>, 4>;
void find_planes_shapes(jpeg_decompress_struct& jpeg, PlanesShapes& shapes);
// The same, of luma alone.
void find_luma_shapes(jpeg_decompress_struct& jpeg, PlanesShapes& shapes);

// Whether libjpeg smooths a picture that was started, since its progressive coding stops before full accuracy.
// Smoothing reaches over neighbouring blocks, further than a box's margin.
bool is_smoothed(const jpeg_decompress_struct& jpeg);

struct PlanesTarget {
  PlanesShape shape;  // of the reduced picture
  int reduction;
  PlanesLayout layout;
  uint8_t* memory;         // layout.bytes, aligned to PlanesLayout::kAlignment
  int raw_state;           // in and out: libjpeg's own number for "raw output can be read"; 0: not known yet
  std::optional<Box> box;  // the part of the picture that is needed, in its own pixels; none: all of it
};

// Precondition: the header was read, and one of the functions above gave target.shape. Writes the planes' header and
// the samples of the whole picture, or only the samples that the target's box needs. Around the whole picture it writes
// zeroes.
void read_planes(jpeg_decompress_struct& jpeg, PlanesTarget& target);

}  // namespace spdld::image
