#include "daemon/media/video/shown_size.h"

#include <algorithm>

#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::video {

Size shown_size(const Size& stored, const ffmpeg::SampleAspect& aspect) {
  constexpr int64_t kAspectMax = 8, kWidthMax = 1 << 15;
  const int64_t across = aspect.across, down = aspect.down;
  if (!aspect.is_told() || across > kAspectMax * down || down > kAspectMax * across) return stored;
  const int64_t width = std::max<int64_t>((2 * across * stored.width + down) / (2 * down), 1);
  if (width > kWidthMax || width * stored.height > image::kPixelsMax) return stored;
  return {static_cast<int>(width), stored.height};
}

}  // namespace spdld::video
