// The codes of scans of AC coefficients (ITU-T T.81, G.1.2.2 and G.1.2.3) as tables for the bits that come next. The
// codes are baseline ones, and further ones say for how many blocks a band has ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/media/image/codecs/baseline/code_tables.h"
#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::progressive {

inline constexpr int kBandBits = 10;  // looked up at once

struct BandTable {
  // A coefficient; or, where the step is kEndStep, the end of the band in `value` blocks, this one among them.
  struct Entry {
    int16_t value;
    uint8_t step;  // from the place of the coefficient before
    uint8_t bits;  // of code and value; 0: too long for the look-up
  };
  baseline::CodeTable codes;
  std::array<Entry, size_t{1} << kBandBits> entries;
  std::array<baseline::Symbol, size_t{1} << kBandBits> symbols;  // the code alone; length 0: too long

  baseline::Symbol symbol(uint32_t next_16) const {
    const baseline::Symbol found = symbols[next_16 >> (16 - kBandBits)];
    return found.length != 0 ? found : codes.symbol(next_16);
  }
};

// False: the lengths are of no code.
[[nodiscard]] bool make_table(const baseline::CodeLengths& lengths, BandTable& table);

}  // namespace spdld::image::progressive
