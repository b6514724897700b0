// Numbers as FFmpeg's enumerations: of bytes that were kept, and of files, which its libraries take as they are. C++
// has no value of an enumeration beyond the bits of the last one that FFmpeg's headers name. Such a number is refused,
// since a mere look at it would be undefined.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "daemon/media/ffmpeg/libraries/libraries.h"

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

// A number that a library wrote to `field` becomes `unknown` where it is refused.
template <typename Enumeration>
void check_enumeration(Enumeration& field, Enumeration unknown) {
  std::underlying_type_t<Enumeration> number;
  std::memcpy(&number, &field, sizeof number);
  if (!enumeration_of<Enumeration>(number)) field = unknown;
}

// The numbers of a stream's parameters, or of a frame, that come out of files.
template <typename Looks>
void check_looks(Looks& looks, AVColorSpace& space) {
  check_enumeration(space, AVCOL_SPC_UNSPECIFIED);
  check_enumeration(looks.color_range, AVCOL_RANGE_UNSPECIFIED);
  check_enumeration(looks.color_primaries, AVCOL_PRI_UNSPECIFIED);
  check_enumeration(looks.color_trc, AVCOL_TRC_UNSPECIFIED);
  check_enumeration(looks.chroma_location, AVCHROMA_LOC_UNSPECIFIED);
}
inline void check_enumerations(AVFrame& frame) { check_looks(frame, frame.colorspace); }
inline void check_enumerations(AVCodecParameters& codec) {
  check_looks(codec, codec.color_space);
  check_enumeration(codec.field_order, AV_FIELD_UNKNOWN);
}

}  // namespace spdld::ffmpeg
