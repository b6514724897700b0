// Packets of MPEG audio and of AC-3 that hold no frame: tags, or frames that are damaged. For this room alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "daemon/media/ffmpeg/audio_link.h"
#include "daemon/media/ffmpeg/mpeg_audio.h"

namespace spdld::ffmpeg {

// Holds such packets until it is known what they are. Tags of files that were joined are no
// part of the sound, nor is what follows the last frame or comes before the first one; else a frame is damaged.
class ForeignPackets {
 public:
  // Whether the packet lies in a tag that has begun before it.
  bool is_in_tag(const AudioPacket& packet) const { return !packet.is_copied && packet.offset < tag_end_; }
  void add(const AudioPacket& packet, std::span<const uint8_t> data) {
    bytes_ += packet.bytes;
    if (is_in_tag(packet)) return;
    if (!packet.is_copied) tag_end_ = packet.offset + id3v2_bytes(data);
    if (!is_known_tag(data)) unknown_.push_back(packet);
  }
  // A frame follows. Returns the packets that are damaged frames; `may_be_damaged`: they lie between frames of one
  // file.
  std::vector<AudioPacket> take(bool may_be_damaged) {
    std::vector<AudioPacket> taken = std::exchange(unknown_, {});
    if (!may_be_damaged) taken.clear();
    for (const AudioPacket& packet : taken) bytes_ -= packet.bytes;
    return taken;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<AudioPacket> unknown_;
  uint64_t tag_end_ = 0, bytes_ = 0;
};

}  // namespace spdld::ffmpeg
