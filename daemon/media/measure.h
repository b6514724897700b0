// The size of a picture without its pixels, and the length of a video without its frames, for an index of lengths that
// is made before anything is decoded. Pure functions; any thread. Each medium that has something to measure implements
// its part in its own folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/base/result.h"
#include "daemon/media/workspace.h"

namespace spdld::media {

struct PictureSides {
  uint32_t height = 0, width = 0;  // pixels
  friend bool operator==(const PictureSides&, const PictureSides&) = default;
};

// The version of what these functions say: bumped whenever the same bytes would get other sides.
inline constexpr uint32_t kMeasureVersion = 2;

// The sides as the first bytes of a picture tell them; none: they do not tell, and measure_picture() must see the whole
// picture. `upright`: as its EXIF orientation turns it. Agrees with measure_picture() for every sound picture.
std::optional<PictureSides> sides_in_head(std::span<const uint8_t> head, bool upright);
// Errors: kContent, kUnsupported or kMemory, as the decoder says when it opens the picture.
Result<PictureSides> measure_picture(std::span<const uint8_t> picture, bool upright, Workspace& workspace);

struct VideoLength {
  uint64_t frames = 0, duration_ns = 0;
};
// By demuxing alone. kContent, kUnsupported: it is no video that can be decoded, or this build reads none.
Result<VideoLength> measure_video(std::span<const uint8_t> video, Workspace& workspace);

}  // namespace spdld::media
