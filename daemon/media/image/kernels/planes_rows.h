// The RGB pixels of a JPEG's planes, bit for bit as libjpeg's decompressor gives them. Chroma is upsampled as
// jdsample.c does it ("fancy upsampling"): a pixel is 3/4 of its own sample and 1/4 of the next one, in both
// directions, with alternating roundings. Colours are converted in 16-bit fixed point as jdcolor.c does it (full-range
// BT.601 of JFIF 1.02). One thread an object, reused from sample to sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

class PlanesRows {
 public:
  // Writes the pixels of `box`, which lies inside the picture, to `out`: rows of interleaved RGB, one behind the other.
  // Reads the samples of the box, and one chroma sample more on each side. Precondition: the planes are not reduced.
  void write(const PlanesView& planes, const Box& box, uint8_t* out);

 private:
  // Chroma of row y of the picture, one value for each pixel of the box's columns: in the plane or in `line`.
  const uint8_t* upsample(const PlanesView& planes, size_t plane, const Box& box, int y, std::vector<uint16_t>& line);
  // A row of chroma that has half as many columns as the picture and is smooth. `own`, `next`: rows of the plane, of
  // `samples` samples; `next` is null where the plane has as many rows as luma.
  const uint8_t* widen(const uint8_t* own, const uint8_t* next, int samples, const Box& box,
                       std::vector<uint16_t>& line);

  std::vector<uint16_t> column_;   // a row of chroma samples, mixed with the next row
  std::vector<uint16_t> cb_, cr_;  // a row of the box, two pixels a value
};

}  // namespace spdld::image
