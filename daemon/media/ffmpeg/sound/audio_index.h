// The samples of a file's sound, found by demuxing alone: which packet gives which of them. Nothing is decoded, but for
// the last packet of a file that may have been cut.
//
// A file may hold several sounds, one behind the other: a chained Ogg file (RFC 3533, 4), or files that were joined.
// Each is a link of the sound, with a decoder of its own, as if it were alone; the sound is all of its links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/ffmpeg/sound/audio_link.h"

namespace spdld::ffmpeg {

inline constexpr int kAudioChannelsMax = 64;
inline constexpr int kAudioRateMin_hz = 1000, kAudioRateMax_hz = 768'000;
inline constexpr uint64_t kAudioPacketsMax = 8'000'000;          // 22 hours of packets of 10 ms
inline constexpr uint64_t kAudioSamplesMax = uint64_t{1} << 43;  // of a link, so that a product with a rate has room
inline constexpr size_t kAudioLinksMax = 1000;

struct AudioIndex {
  std::vector<AudioLink> links;   // in the order of time, at least one
  int rate_hz = 0, channels = 0;  // of the first link, to which the others are converted
  uint64_t samples = 0;           // of each channel; at least one
  double start_s = 0;             // the file's time at which the first sample is heard; 0 where no times are told
  uint64_t foreign_bytes = 0;     // of the stream, that are no sound: tags between frames, and what is behind them

  void append(AudioLink link);
  // The link that gives this sample. Precondition: sample < samples.
  const AudioLink& link_of(uint64_t sample) const;
  // Whether samples depend on the packet at which decoding starts.
  bool depends_on_start() const;
  // The packet at which decoding starts for this sample, counted through all links. Precondition: sample < samples.
  size_t start_of(uint64_t sample) const;
  // The parts of the file that a decoder reads for the samples [first, first + count). Precondition: they are some of
  // the sound's.
  std::vector<ByteRange> ranges_of(uint64_t first, uint64_t count) const;
};

// `file` is borrowed for the call; packets are found again in it by their offsets. kContent: it holds no sound, none of
// a codec that can be decoded, damage in its structure, or more work than the limits allow. kUnread: as index_video()
// has it.
Result<AudioIndex> index_audio(const ByteParts& file, const media::DecodeLimits& limits = {},
                               std::vector<ByteRange>* unread = nullptr);
// As index_audio(), by libavformat alone, also where this room's own code does a part of its work faster. For tests.
Result<AudioIndex> index_audio_by_libavformat(const ByteParts& file, const media::DecodeLimits& limits = {});

}  // namespace spdld::ffmpeg
