// Frames of MPEG audio, layers I to III, by their headers alone (ISO/IEC 11172-3, 2.4.1.3; 13818-3, 2.4.2.3). Pure
// functions; any thread. For this room alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace spdld::ffmpeg {

struct MpegFrame {
  int layer = 0, rate_hz = 0, channels = 0;
  uint32_t bytes = 0;  // 0: the header does not tell them, and libavcodec decodes no such frame
  uint32_t samples = 0;
};

// None: it is no header.
std::optional<MpegFrame> mpeg_frame(uint32_t header);

// The samples that libavcodec's decoder makes of a packet whose frames are sound.
struct MpegPacket {
  uint32_t samples = 0;           // 0: the packet holds no frame
  int rate_hz = 0, channels = 0;  // of the last frame
  bool is_whole = false;          // the last frame has all of its bytes
};
MpegPacket look_at_mpeg_packet(std::span<const uint8_t> packet);

// Whether bytes between two frames are known to be none of the sound: a tag, or a page of HTML.
bool is_known_tag(std::span<const uint8_t> bytes);
bool is_zeros(std::span<const uint8_t> bytes);
// Whether a frame begins the sound of a file: its place for samples holds a table of the file's frames instead.
bool begins_mpeg_file(std::span<const uint8_t> packet);
// Whether a frame of layer III needs nothing of the frames before it, as the first one of a file.
bool needs_no_reservoir(std::span<const uint8_t> packet);

// The bytes of an ID3v2 tag at the start (ID3v2.4.0, 3.1); 0: there is none.
size_t id3v2_bytes(std::span<const uint8_t> bytes);

}  // namespace spdld::ffmpeg
