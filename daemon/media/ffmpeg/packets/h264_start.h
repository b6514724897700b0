// Whether decoding can start at a packet of H.264 that its container calls a key frame. A pure function; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spdld::ffmpeg {

// False: the picture is the first of several ones that refresh the picture bit by bit (recovery_frame_cnt above 0 in a
// recovery point, ITU-T H.264, D.2.8). Encoders call such pictures key frames, and the pictures behind them are not
// exact.
// `length_bytes`: see nal_units.h.
bool is_h264_start(std::span<const uint8_t> packet, size_t length_bytes);

}  // namespace spdld::ffmpeg
