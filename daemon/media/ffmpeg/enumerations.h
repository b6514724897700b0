// Numbers of bytes that were kept, as FFmpeg's enumerations. C++ has no value of an enumeration beyond the bits of the
// last one that FFmpeg's headers name: such a number is refused, since a mere look at it would be undefined.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "daemon/media/ffmpeg/libraries.h"

namespace spdld::ffmpeg {

constexpr int64_t last_of(AVCodecID) { return AV_CODEC_ID_WRAPPED_AVFRAME; }
constexpr int64_t last_of(AVFieldOrder) { return AV_FIELD_BT; }
constexpr int64_t last_of(AVPixelFormat) { return AV_PIX_FMT_NB; }
constexpr int64_t last_of(AVColorRange) { return AVCOL_RANGE_NB; }
constexpr int64_t last_of(AVColorPrimaries) { return AVCOL_PRI_NB; }
constexpr int64_t last_of(AVColorTransferCharacteristic) { return AVCOL_TRC_NB; }
constexpr int64_t last_of(AVColorSpace) { return AVCOL_SPC_NB; }
constexpr int64_t last_of(AVChromaLocation) { return AVCHROMA_LOC_NB; }

template <typename Enumeration>
std::optional<Enumeration> enumeration_of(int64_t number) {
  const auto end = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(last_of(Enumeration{})) + 1));
  if (number < 0 || number >= end) return std::nullopt;
  return static_cast<Enumeration>(number);
}

}  // namespace spdld::ffmpeg
