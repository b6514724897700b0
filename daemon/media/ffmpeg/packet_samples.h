// How many samples the decoder makes of a packet, told by the packet alone. For this room alone.
#pragma once

#include <memory>
#include <optional>

#include "daemon/media/ffmpeg/handles.h"

struct AVVorbisParseContext;

namespace spdld::ffmpeg {

bool is_pcm(AVCodecID codec);
bool is_mpeg_audio(AVCodecID codec);

struct PacketSound {
  uint32_t samples = 0;
  int rate_hz = 0, channels = 0;  // 0: the packet does not tell them
  bool is_whole = true;           // nothing says that the packet's end is missing
};

class PacketSamples {
 public:
  explicit PacketSamples(const AVStream& stream);
  ~PacketSamples();
  PacketSamples(const PacketSamples&) = delete;
  PacketSamples& operator=(const PacketSamples&) = delete;

  // Called for each packet in its order. None: nothing says it. Of MPEG audio, no samples: the packet is no sound.
  std::optional<PacketSound> of(const AVPacket& packet);

 private:
  std::optional<uint32_t> samples_of(const AVPacket& packet);
  std::optional<uint32_t> of_vorbis(const AVPacket& packet);
  std::optional<uint32_t> of_time(const AVPacket& packet) const;

  const AVStream& stream_;
  AVVorbisParseContext* vorbis_ = nullptr;
  bool is_first_ = true;
};

// Samples that a decoder of AAC leaves out by itself, where the container says no other number: the delay of the
// encoder FAAC, which writes its name into the first packet.
uint32_t faac_delay(std::span<const uint8_t> packet);

}  // namespace spdld::ffmpeg
