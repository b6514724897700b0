// Whether pictures of an H.264 stream may be coded as fields. Pure functions on bytes; any thread. Numbers in
// parentheses are sections of ITU-T H.264.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::ffmpeg {

// `header`: what the container says of the stream, as an avcC box or as units behind start codes. False: its first
// sequence parameter set has frame_mbs_only_flag, so that every picture is a frame of its own. Without such a set, or
// with a damaged one, it is true.
//
// Where all pictures are frames, FFmpeg may flag one as interlaced by a timing message, or as the picture before it
// was: the flag then depends on where the decoder started.
bool h264_may_have_fields(std::span<const uint8_t> header);

}  // namespace spdld::ffmpeg
