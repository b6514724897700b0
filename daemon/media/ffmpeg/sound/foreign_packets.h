// Packets of MPEG audio and of AC-3 that hold no frame: tags, or frames that are damaged. For this room alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"
#include "daemon/media/ffmpeg/sound/audio_link.h"

namespace spdld::ffmpeg {

// Holds such packets until it is known what they are. Tags of files that were joined are no part of the sound, nor is
// what follows the last frame or comes before the first one; else a frame is damaged.
class ForeignPackets {
 public:
  // Whether the packet lies in a tag that has begun before it.
  bool is_in_tag(const AudioPacket& packet) const { return !packet.is_copied && packet.offset < tag_end_; }
  void add(const AudioPacket& packet, std::span<const uint8_t> data) {
    bytes_ += packet.bytes;
    if (is_in_tag(packet)) return;
    if (!packet.is_copied) tag_end_ = packet.offset + id3v2_bytes(data);
    if (is_known_tag(data)) return;
    unknown_.push_back(packet);
    is_only_zeros_ = is_only_zeros_ && is_zeros(data);
  }
  // A frame follows. Returns the packets that are damaged frames: they lie between frames of one file. Zeros may be
  // what was lost of it, or stand between two files.
  std::vector<AudioPacket> take(bool is_first, std::span<const uint8_t> frame) {
    std::vector<AudioPacket> taken = std::exchange(unknown_, {});
    const bool is_joined = begins_mpeg_file(frame) || (is_only_zeros_ && needs_no_reservoir(frame));
    if (is_first || is_joined) taken.clear();
    for (const AudioPacket& packet : taken) bytes_ -= packet.bytes;
    is_only_zeros_ = true;
    return taken;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<AudioPacket> unknown_;
  bool is_only_zeros_ = true;  // what is unknown
  uint64_t tag_end_ = 0, bytes_ = 0;
};

}  // namespace spdld::ffmpeg
