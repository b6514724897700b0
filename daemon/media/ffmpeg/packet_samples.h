// How many samples the decoder makes of a packet, told by the packet alone. For this room alone.
#pragma once

#include <memory>
#include <optional>

#include "daemon/media/ffmpeg/handles.h"

struct AVVorbisParseContext;

namespace spdld::ffmpeg {

class PacketSamples {
 public:
  explicit PacketSamples(const AVStream& stream);
  ~PacketSamples();
  PacketSamples(const PacketSamples&) = delete;
  PacketSamples& operator=(const PacketSamples&) = delete;

  // Called for each packet in its order. None: nothing says it.
  std::optional<uint32_t> of(const AVPacket& packet);

 private:
  std::optional<uint32_t> of_vorbis(const AVPacket& packet);
  std::optional<uint32_t> of_time(const AVPacket& packet) const;

  const AVStream& stream_;
  AVVorbisParseContext* vorbis_ = nullptr;
  bool is_first_ = true;
};

}  // namespace spdld::ffmpeg
