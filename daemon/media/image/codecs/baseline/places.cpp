#include "daemon/media/image/codecs/baseline/places.h"

namespace spdld::image::baseline {
namespace {

// T.81, figure 6: the natural place of each coefficient in the order of coding.
constexpr std::array<uint8_t, kBlockSamples> kZigzag = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                                        12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                                        35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                                        58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

}  // namespace

Places places_of(size_t in_group) {
  Places places;
  const size_t row = in_group * kBlockSide;
  places.fill(static_cast<uint16_t>(kBlockSide * row));
  for (size_t k = 0; k < kBlockSamples; ++k)
    places[k] = static_cast<uint16_t>(kZigzag[k] / kBlockSide * row + kZigzag[k] % kBlockSide);
  return places;
}

}  // namespace spdld::image::baseline
