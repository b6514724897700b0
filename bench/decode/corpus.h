// The JPEGs that are measured: those below the folder that SPDLD_BENCH_JPEGS names, at most kPicturesMax of them,
// evenly drawn from all; without it made ones. And the boxes that a random resized crop would draw of them.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/picture.h"

namespace spdld::bench {

struct Photo {
  std::vector<uint8_t> jpeg;
  Size size;
  Box box;
};

constexpr size_t kPicturesMax = 400;

// Loaded once, constant afterwards. Throws std::runtime_error where the folder has none that can be decoded.
const std::vector<Photo>& corpus();

}  // namespace spdld::bench
