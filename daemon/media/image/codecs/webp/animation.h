// The frames of an animated WebP, as libwebp draws them on one another. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/frames.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/webp/chunks.h"

namespace spdld::image {

// The most memory that draw_webp_frames() takes beside the rows.
uint64_t webp_animation_bytes(const WebpOutline& outline);

// Draws the canvas with each frame of `wanted`, whose numbers rise, into rows of RGB or RGBA of 8 bits, and gives the
// rows to the sink; `rows` has its format and its picture's size.
Status draw_webp_frames(const WebpOutline& outline, std::span<const int> wanted, const Box& box, CpuWatch& watch,
                        PixelRows& rows, const FrameSink& sink);

}  // namespace spdld::image
