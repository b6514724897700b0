// The frames of an animated WebP behind the first one, as libwebp draws them on one another. Any thread.
#pragma once

#include <cstdint>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/picture_limits.h"
#include "daemon/media/image/webp/chunks.h"

namespace spdld::image {

// The most memory that draw_webp_frame() takes beside the rows.
uint64_t webp_animation_bytes(const WebpOutline& outline);

// Gives the canvas with the frame into rows of RGB or RGBA of 8 bits; `rows` has its format and its picture's size.
Status draw_webp_frame(const WebpOutline& outline, int frame, const Box& box, CpuWatch& watch, PixelRows& rows);

}  // namespace spdld::image
