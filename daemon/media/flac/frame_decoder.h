// Decodes single frames of FLAC (RFC 9639), several times as fast as libavcodec and to the same samples. Only what
// encoders write is decoded; all else is left, with no word on what is wrong, to libavcodec. One object a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/media/flac/channels.h"

namespace spdld::flac {

inline constexpr size_t kPaddingBytes = 64;  // zeroes behind a frame; the decoder may read them

// As STREAMINFO has it (RFC 9639, 8.2).
struct Stream {
  int rate_hz = 0, channels = 0, sample_bits = 0;
  uint32_t block_max = 0;  // samples of each channel in a frame
};

// `header`: STREAMINFO alone, or "fLaC" and all blocks of metadata, as containers keep it. None: another length of
// samples than 8, 12, 16, 20 or 24 bits, or no such header.
std::optional<Stream> read_stream_info(std::span<const uint8_t> header);

class FrameDecoder {
 public:
  // False: the frame is left to libavcodec. `frame` is exactly one frame. Its CRC-16 is not looked at, as libavcodec
  // decodes frames with a wrong one. Precondition: kPaddingBytes zeroes can be read behind it.
  [[nodiscard]] bool decode(std::span<const uint8_t> frame, const Stream& stream);

  // Of the last decoded frame.
  uint32_t samples() const { return planes_.samples; }
  // Writes the samples [at, at + count) of one channel; full scale is from -1 to 1.
  void channel(int channel, size_t at, size_t count, float* to) const;
  // The mean of two channels. Precondition: there are two.
  void pair_mean(size_t at, size_t count, float* to) const;

  // Keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  std::vector<int32_t> memory_;
  Planes planes_;
};

}  // namespace spdld::flac
