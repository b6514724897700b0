// Where the coefficients of a block lie in memory (see inverse_dct.h for the groups). Constant; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/media/image/codecs/baseline/code_tables.h"

namespace spdld::image::baseline {

// Where the coefficients of a block go, in the order in which they are coded: T.81, figure 6, in a group of blocks
// whose rows lie beside one another. Beyond the last coefficient, and for the end of the block, a place behind them.
inline constexpr size_t kPlaces = kBlockSamples + kEndStep + 16;
using Places = std::array<uint16_t, kPlaces>;

Places places_of(size_t in_group);

}  // namespace spdld::image::baseline
