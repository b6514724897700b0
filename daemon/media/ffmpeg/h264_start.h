// Whether decoding can start at a packet of H.264 that its container calls a key frame, and what such packets have in
// front of their pictures. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spdld::ffmpeg {

// The bytes of a NAL unit's length in front of it, by the stream's header ("avcC", ISO/IEC 14496-15, 5.3.3.1); 0: units
// begin with start codes (ITU-T H.264, annex B).
size_t h264_length_bytes(std::span<const uint8_t> header);

// False: the picture is the first of several ones that refresh the picture bit by bit (recovery_frame_cnt above 0 in a
// recovery point, ITU-T H.264, D.2.8). Encoders call such pictures key frames, and the pictures behind them are not
// exact.
bool is_h264_start(std::span<const uint8_t> packet, size_t length_bytes);

struct H264Lead {
  bool is_idr = false;        // the picture is one behind which nothing refers to what lies before it
  std::vector<uint8_t> sets;  // parameter sets in front of the picture, as units of the stream
};
H264Lead h264_lead(std::span<const uint8_t> packet, size_t length_bytes);

}  // namespace spdld::ffmpeg
