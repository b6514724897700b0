// How many samples the decoder makes of a packet, told by the packet alone. For this room alone.
#pragma once

#include <memory>
#include <optional>

#include "daemon/media/ffmpeg/libraries/handles.h"

struct AVVorbisParseContext;

namespace spdld::ffmpeg {

bool is_pcm(AVCodecID codec);
bool is_mpeg_audio(AVCodecID codec);
// Whether a packet shows by its first bytes that it is a frame: PacketSamples then tells no samples of others.
bool shows_frames(AVCodecID codec);

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

  // Called for each packet in its order. None: nothing says it.
  std::optional<PacketSound> of(const AVPacket& packet);

 private:
  std::optional<uint32_t> samples_of(const AVPacket& packet);
  std::optional<uint32_t> of_vorbis(const AVPacket& packet);
  std::optional<uint32_t> of_wma(std::span<const uint8_t> packet);
  std::optional<uint32_t> of_time(const AVPacket& packet) const;

  const AVStream& stream_;
  AVVorbisParseContext* vorbis_ = nullptr;
  bool is_first_ = true;
};

// The samples of a frame of Windows Media Audio 1 or 2; 0: it is another codec. The decoder gives a frame behind the
// last packet, and leaves two out at the start.
uint32_t wma_frame_samples(const AVCodecParameters& codec);

}  // namespace spdld::ffmpeg
