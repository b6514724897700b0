// How a WAVE file stores its samples. libavformat goes by the number of valid bits alone, so that it reads samples
// wrongly whose bytes are more than these bits need. Sources: "Multimedia Programming Interface and Data Specifications
// 1.0" (IBM and Microsoft, 1991), WAVEFORMATEXTENSIBLE in "Multiple Channel Audio Data and WAVE Files" (Microsoft),
// and EBU Tech 3306 for RF64. For this room alone. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/libraries/libraries.h"

namespace spdld::ffmpeg {

struct WaveFormat {
  uint32_t kind = 0;  // the format tag, or the one in the subformat of WAVE_FORMAT_EXTENSIBLE
  uint32_t channels = 0, rate_hz = 0, bytes_a_second = 0;
  uint32_t block_bytes = 0;  // of one sample of all channels
  uint32_t bits = 0;  // of one sample; of WAVE_FORMAT_EXTENSIBLE: of its room, whose lowest bits may not be valid
  bool is_big_endian = false;

  // The fewest bytes that have room for `bits`: where the file keeps to the format, each sample has as many.
  uint32_t sample_bytes() const { return (bits + 7) / 8; }
};
// The first "fmt " chunk of a file of RIFF, RIFX, RF64 or Wave64; none: there is no such chunk.
std::optional<WaveFormat> wave_format_of(std::span<const uint8_t> file);

// The decoder of samples of PCM that are stored so, where libavformat has found `found`. kContent: the file says of its
// samples what programs understand in different ways.
Result<AVCodecID> wave_codec_of(const WaveFormat& format, AVCodecID found);

// That samples have more bytes than their bits need, in a format that does not say where the bits lie in them.
Error too_wide_samples(uint32_t bits, uint32_t bytes);

}  // namespace spdld::ffmpeg
