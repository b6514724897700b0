// A JPEG's header, as libjpeg has read it, in the values of the own decoders. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <algorithm>
#include <iterator>

#include "daemon/media/image/baseline/frame.h"

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

}  // namespace spdld::image
