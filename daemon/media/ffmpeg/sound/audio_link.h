// The samples of a stretch of a file's sound that one decoder decodes: which packet gives which of them. Most files
// have one such link; the links of others follow one another, as in a chained Ogg file. Samples are numbered from 0 as
// the ffmpeg program writes them: without the encoder's delay at the start and its padding at the end, where the
// container tells of delay and padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/byte_parts.h"

namespace spdld::ffmpeg {

struct DecoderParameters;  // of the codec; they stay within this room

struct AudioPacket {
  uint64_t offset = 0;  // in the file, or in AudioLink::copied where `is_copied`
  uint64_t first = 0;   // the number of the first sample that it gives
  uint32_t bytes = 0;
  uint32_t decoded = 0;    // samples that the decoder makes of it
  uint32_t skipped = 0;    // samples at the start of `decoded` that belong to the encoder's delay
  uint32_t count = 0;      // samples that it gives, behind the skipped ones
  bool is_copied = false;  // the container does not hold it in one piece
};

struct AudioLink {
  AudioLink();
  ~AudioLink();
  AudioLink(AudioLink&&) noexcept;
  AudioLink& operator=(AudioLink&&) noexcept;

  std::unique_ptr<DecoderParameters> parameters;
  std::vector<AudioPacket> packets;  // in the order of decoding
  std::vector<uint8_t> copied;
  int rate_hz = 0, channels = 0;
  uint64_t samples = 0;  // of each channel; at least one
  uint64_t preroll = 0;  // of Opus: samples before a packet that its decoder needs
  uint64_t delay = 0;    // samples that are left out at the start
  uint64_t padding = 0;  // and at the end
  uint64_t begin = 0;    // of the sound's samples, the first one that the link gives
  uint64_t given = 0;    // and how many it gives, at the sound's rate

  // The link goes on with the packets of another one.
  void append(const AudioLink& link);
  // The packet that gives this sample. Precondition: sample < samples.
  size_t packet_of(uint64_t sample) const;
  // Whether samples depend on the packet at which decoding starts, as the noise of AAC does.
  bool depends_on_start() const;
  // The packet at which a decoder starts, so that `packet` gives what it gives when all is decoded.
  size_t start_of(size_t packet) const;
  // Whether a decoder that starts later is given the first packet before, for what the first one alone tells.
  bool needs_first_packet() const;
  // The parts of the file that a decoder reads for the samples [first, first + count). Precondition: they are some of
  // the link's.
  std::vector<ByteRange> ranges_of(uint64_t first, uint64_t count) const;
  // Empty: the file's parts lack it.
  std::span<const uint8_t> data_of(const AudioPacket& packet, const ByteParts& file) const;
};

// Of a stream whose frames tell its rate: where a few frames alone have another one, their headers are damaged. They
// become frames of the link before them.
void join_damaged_links(std::vector<AudioLink>& links);

}  // namespace spdld::ffmpeg
