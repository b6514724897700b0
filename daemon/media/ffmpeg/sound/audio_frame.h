// The samples that a decoder made of a packet, as floats. For this room alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/media/ffmpeg/libraries/libraries.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/flac/frame_decoder.h"

namespace spdld::ffmpeg {

// Of libavcodec and of own code. Samples are written by channel(), and the mean of two channels by pair_mean(). False:
// they are of a type that is not known.
struct LibraryFrame {
  const AVFrame& frame;

  int channels() const { return frame.ch_layout.nb_channels; }
  bool channel(int channel, size_t at, size_t count, float* to) const;
  bool pair_mean(size_t at, size_t count, float* to) const;
};
struct OwnFrame {
  const flac::FrameDecoder& decoder;
  int its_channels;

  int channels() const { return its_channels; }
  bool channel(int channel, size_t at, size_t count, float* to) const {
    decoder.channel(channel, at, count, to);
    return true;
  }
  bool pair_mean(size_t at, size_t count, float* to) const {
    decoder.pair_mean(at, count, to);
    return true;
  }
};

// Where samples go: channel c to to[c * stride] on, or the mean of all channels to to[0] on.
struct SampleTarget {
  float* to;
  size_t stride;
  int channels;
  bool is_mean;

  SampleTarget behind(uint64_t samples) const { return {to + samples, stride, channels, is_mean}; }
};

// The mean of a frame's channels, of a few samples at a time, which stay in the processor's nearest cache.
bool write_mean(const auto& frame, size_t at, size_t count, float* to) {
  if (frame.channels() == 2) return frame.pair_mean(at, count, to);
  constexpr size_t kAtOnce = 1024;
  float channel_samples[kAtOnce];
  for (size_t done = 0; done < count;) {
    const size_t size = count - done < kAtOnce ? count - done : kAtOnce;
    if (!frame.channel(0, at + done, size, to + done)) return false;
    for (int channel = 1; channel < frame.channels(); ++channel) {
      frame.channel(channel, at + done, size, channel_samples);
      add_channel({channel_samples, size}, to + done);
    }
    finish_mean(frame.channels(), {to + done, size});
    done += size;
  }
  return true;
}

// The mean of `copies` copies of the samples, as it is made of channels that are copies.
void take_mean_of_copies(int copies, std::span<float> samples);

// Whether a frame of `channels` channels fits the target: as they are, as their mean, or as copies of one.
inline bool can_become(int channels, const SampleTarget& target) {
  return channels == target.channels || channels == 1 || target.channels == 1;
}
// Writes the samples [at, at + count) of a frame. Precondition: can_become().
bool write_samples(const auto& frame, size_t at, size_t count, const SampleTarget& target) {
  const bool is_copied = frame.channels() == 1 && target.channels > 1;
  if (!is_copied && (target.is_mean || target.channels == 1)) return write_mean(frame, at, count, target.to);
  if (is_copied && target.is_mean) {
    const bool is_known = frame.channel(0, at, count, target.to);
    take_mean_of_copies(target.channels, {target.to, count});
    return is_known;
  }
  bool is_known = true;
  for (int channel = 0; channel < target.channels; ++channel)
    is_known =
        frame.channel(is_copied ? 0 : channel, at, count, target.to + static_cast<size_t>(channel) * target.stride) &&
        is_known;
  return is_known;
}

}  // namespace spdld::ffmpeg
