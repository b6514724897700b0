// A JPEG's header, as libjpeg has read it, in the values of the own decoders. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "daemon/media/image/codecs/baseline/frame.h"
#include "daemon/media/image/codecs/baseline/packed_picture.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::image {

// False: the header had no such code.
inline bool copy_code(const JHUFF_TBL* table, baseline::CodeLengths& code) {
  if (table == nullptr) return false;
  std::copy(std::begin(table->bits), std::end(table->bits), code.counts.begin());
  code.counts[0] = 0;
  std::copy(std::begin(table->huffval), std::end(table->huffval), code.symbols.begin());
  return true;
}

// How many parts a whole takes. The last one may be smaller.
inline int parts(int whole, int part) { return (whole + part - 1) / part; }

// Begins to pack the planes of a picture of this shape, whose components these are.
template <typename Components>
void begin_packing(const PlanesShape& shape, const Components& components, baseline::PackedWriter& packed) {
  std::array<baseline::PackedPlane, baseline::kComponentsMax> planes;
  std::array<int, baseline::kComponentsMax> lines{};
  const auto count = static_cast<size_t>(shape.planes());
  for (size_t c = 0; c < count; ++c) {
    const int height = shape.plane(static_cast<int>(c)).height;
    planes[c] = {components[c].blocks_across, parts(height, DCTSIZE), components[c].steps};
    lines[c] = components[c].down;
  }
  packed.begin(std::span(planes).first(count), std::span(lines).first(count));
}

}  // namespace spdld::image
