// The reasons for which no decoder gives a frame of a video. Pure functions; any thread. For this room alone.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"

namespace spdld::ffmpeg {

// libavcodec gave this fault for the frame.
Error refused_frame(const VideoIndex& index, uint32_t number, int fault);
// The frame's data is damaged.
Error damaged_frame(const VideoIndex& index, uint32_t number);
// The decoder gave no fault, and no frame.
Error missing_frame(const VideoIndex& index, uint32_t number);

}  // namespace spdld::ffmpeg
