// Decodes a range of a sound's samples, and as little beside it as is possible: it starts as many packets before
// the range as the codec needs to give what it gives when all is decoded. Where the channels change on the way, the
// sound keeps its first number of them: one channel gets the mean of several, and several get a copy of one. One object
// a decode thread; a decoder is kept from file to file where nothing of a file stays in it (decoder_pool.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "daemon/media/flac/frame_decoder.h"

namespace spdld::ffmpeg {

class DecoderPool;
struct SampleTarget;

class AudioDecoder {
 public:
  // `only_libavcodec`: no FLAC is decoded by own code, which gives the same samples. For tests.
  explicit AudioDecoder(const media::DecodeLimits& limits, bool only_libavcodec = false);
  ~AudioDecoder();
  AudioDecoder(const AudioDecoder&) = delete;
  AudioDecoder& operator=(const AudioDecoder&) = delete;

  // Writes the samples [first, first + count) of each channel: channel c from to[c * stride] on. Full scale is from -1
  // to 1; whole numbers are divided by the power of two that is their greatest magnitude. `index` was made of `file`.
  // kContent: damage in what has to be decoded, or more work than the limits allow. Preconditions: first + count is at
  // most index.samples, and count at most stride.
  Status decode(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count, float* to,
                size_t stride);
  // Whether a packet gives its samples to a decoder that starts a little before it. kContent: it does not.
  Status try_packet(const AudioLink& link, const ByteParts& file, size_t packet);
  // Decodes the mean of all channels, as add_channel() and finish_mean() make it.
  Status decode_mean(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count, float* to);

  // Packets that decoders were given since the object was made, and how many of them were FLAC for own code.
  uint64_t packets_sent() const { return packets_sent_; }
  uint64_t own_packets() const { return own_packets_; }
  // Keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  class Decoding;

  Status decode_to(SampleTarget target, const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count);
  // The samples [first, first + count) that a link of another rate gives.
  Status decode_resampled(SampleTarget target, int rate_hz, const AudioLink& link, const ByteParts& file,
                          uint64_t first, uint64_t count);

  const media::DecodeLimits limits_;
  const bool only_libavcodec_;
  const std::unique_ptr<DecoderPool> decoders_;
  flac::FrameDecoder flac_;
  ByteBuffer padded_;      // a packet for flac_
  ByteBuffer resampling_;  // memory for links of other rates
  uint64_t packets_sent_ = 0, own_packets_ = 0;
};

// The mean of channels: each is added to the first one, and finish_mean() divides the sums.
void add_channel(std::span<const float> channel, float* sums);
void finish_mean(int channels, std::span<float> sums);

// "libavcodec 59.37.100", whose decoders decide the samples.
const std::string& decoder_version();

}  // namespace spdld::ffmpeg
