// A progressive picture and its scans, as their headers describe them (ITU-T T.81, G.1). Plain values; the code that
// fills them in has checked them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/media/image/codecs/baseline/code_tables.h"
#include "daemon/media/image/codecs/baseline/frame.h"
#include "daemon/media/image/codecs/progressive/band_tables.h"

namespace spdld::image::progressive {

using baseline::kBlockSamples;
using baseline::kBlockSide;
using baseline::kComponentsMax;

struct Component {
  int across = 1, down = 1;                     // blocks in an MCU of several components
  int blocks_across = 0, blocks_down = 0;       // of the picture
  std::array<uint16_t, kBlockSamples> steps{};  // of quantisation, row by row
  bool is_wanted = true;                        // its samples are
};

struct Frame {
  std::array<Component, kComponentsMax> component;
  size_t components = 0;
  int mcus_across = 0, mcus_down = 0;  // of all components
};

// The MCUs whose samples are wanted.
struct Window {
  int first_column = 0, end_column = 0, first_row = 0, end_row = 0;
};

// The most bits that a scan may leave to later ones. Encoders leave 1 or 2.
inline constexpr int kLowMax = 4;

// A scan gives the coefficients `first` to `last`, in the order of coding: all bits above the lowest `low`, or, where
// `high` is not 0, the one bit that the scans before left lowest. high == low + 1 then.
struct Scan {
  std::array<size_t, kComponentsMax> component{};  // in the order of an MCU
  size_t components = 0;
  int first = 0, last = 0, high = 0, low = 0;
  std::array<const baseline::DcTable*, kComponentsMax> dc{};  // where first == 0 and high == 0
  const BandTable* band = nullptr;                            // where first > 0
  uint32_t restart_interval = 0;                              // MCUs; 0: no restart markers
};

}  // namespace spdld::image::progressive
