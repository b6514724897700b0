// Stands in the place of measure.cpp in a build without FFmpeg's libraries.
#include "daemon/media/measure.h"

namespace spdld::media {

Result<VideoLength> measure_video(std::span<const uint8_t>, Workspace&) {
  return Error{Trouble::kUnsupported, "this spdld measures no videos: build it with FFmpeg's libraries"};
}

}  // namespace spdld::media
