// Indexes as bytes, to be kept beside their files. Some 5 bytes a packet. The bytes may
// be damaged. They are never of another version, since the shelf that keeps them names the version. Pure functions; any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"

namespace spdld::ffmpeg {

// "index of video 2, libavformat 59.27.100, libavcodec 59.37.100": what decides the bytes.
std::string kept_video_id();
std::string kept_audio_id();

std::string packed(const VideoIndex& index);
std::string packed(const AudioIndex& index);
// None: these bytes are no index, or one of a codec that this FFmpeg cannot decode.
std::optional<VideoIndex> unpacked_video(std::span<const uint8_t> bytes);
std::optional<AudioIndex> unpacked_audio(std::span<const uint8_t> bytes);

}  // namespace spdld::ffmpeg
