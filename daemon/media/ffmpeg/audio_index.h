// The samples of a file's sound, found by demuxing alone: which packet gives which of them. Nothing is decoded. Samples
// are numbered from 0 as the ffmpeg program writes them: without the encoder's delay at the start and its padding at
// the end, where the container tells of these.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"

namespace spdld::ffmpeg {

inline constexpr int kAudioChannelsMax = 64;
inline constexpr int kAudioRateMin_hz = 1000, kAudioRateMax_hz = 768'000;
inline constexpr uint64_t kAudioPacketsMax = 8'000'000;  // 22 hours of packets of 10 ms

struct DecoderParameters;  // of the codec; they stay within this room

struct AudioPacket {
  uint64_t offset = 0;  // in the file, or in AudioIndex::copied where `is_copied`
  uint64_t first = 0;   // the number of the first sample that it gives
  uint32_t bytes = 0;
  uint32_t decoded = 0;    // samples that the decoder makes of it
  uint32_t skipped = 0;    // of these, at their start, which belong to the encoder's delay
  uint32_t count = 0;      // samples that it gives, behind the skipped ones
  bool is_copied = false;  // the container does not hold it in one piece
};

struct AudioIndex {
  AudioIndex();
  ~AudioIndex();
  AudioIndex(AudioIndex&&) noexcept;
  AudioIndex& operator=(AudioIndex&&) noexcept;

  std::unique_ptr<DecoderParameters> parameters;
  std::vector<AudioPacket> packets;  // in the order of decoding
  std::vector<uint8_t> copied;
  int rate_hz = 0, channels = 0;
  uint64_t samples = 0;  // of each channel; at least one
  uint64_t preroll = 0;  // of Opus: samples before a packet that its decoder needs
  uint64_t delay = 0;    // samples that are left out at the start
  uint64_t padding = 0;  // and at the end
  double start_s = 0;    // the file's time at which the first sample is heard; 0 where the container tells no times

  // The packet that gives this sample. Precondition: sample < samples.
  size_t packet_of(uint64_t sample) const;
  // Whether samples depend on the packet at which decoding starts, as the noise of AAC does.
  bool depends_on_start() const;
  // The packet at which a decoder starts, so that `packet` gives what it gives when all is decoded.
  size_t start_of(size_t packet) const;
  // Whether a decoder that starts later is given the first packet before, for what the first one alone tells.
  bool needs_first_packet() const;
  // The parts of the file that a decoder reads for the samples [first, first + count). Precondition: they are some of
  // the sound's.
  std::vector<ByteRange> ranges_of(uint64_t first, uint64_t count) const;
  // Empty: the file's parts lack it.
  std::span<const uint8_t> data_of(const AudioPacket& packet, const ByteParts& file) const;
};

// `file` is borrowed for the call; packets are found again in it by their offsets. kContent: it holds no sound, none of
// a codec that can be decoded, damage in its structure, or more work than the limits allow. kUnread: as index_video()
// has it.
Result<AudioIndex> index_audio(const ByteParts& file, const media::DecodeLimits& limits = {},
                               std::vector<ByteRange>* unread = nullptr);
// The same by libavformat alone, also where this room's own code does a part of its work faster. For tests.
Result<AudioIndex> index_audio_by_libavformat(const ByteParts& file, const media::DecodeLimits& limits = {});

}  // namespace spdld::ffmpeg
