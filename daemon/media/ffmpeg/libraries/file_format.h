// Which of libavformat's demuxers reads a file, where the file's first bytes tell it without doubt. libavformat finds
// the same demuxer by asking all of its demuxers, some three hundred. Pure function; any thread. For this room alone.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::ffmpeg {

// The demuxer's name, or null: these bytes do not tell it. `bytes` are the file's first ones, and as many as are there.
const char* format_told_by(std::span<const uint8_t> bytes);

}  // namespace spdld::ffmpeg
