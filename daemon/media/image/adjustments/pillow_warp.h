// Affine warps with the values that Pillow gives (Image.transform and Image.rotate): places in double, from the upper
// left corner; a place within the picture takes its outermost pixels for the ones beyond, and any other place has the
// fill colour. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/work_guard.h"

namespace spdld::image {

// The way back, as Image.transform takes it for Image.AFFINE: rows (x, y, 1).
Warp pillow_warp(const Size& source, const std::array<double, 6>& back);
// Image.rotate: counter-clockwise around the picture's centre, in the picture's size.
Warp pillow_rotation(const Size& source, double degrees);

// The place of the source from which the middle of this pixel comes.
Place pillow_place(const Warp& warp, int x, int y);

// Precondition: warp.kind is kPillow, and its filter kBilinear or kBicubic. `pixels` and `out` are as in Warper::run.
// `guard` is told of each row, where there is one.
void run_as_pillow(const Warp& warp, const uint8_t* pixels, int channels, uint8_t* out, media::WorkGuard* guard);

}  // namespace spdld::image
