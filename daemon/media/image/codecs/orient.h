// Boxes in pictures, and the eight EXIF orientations as geometry: which stored pixels an upright box needs, and how its
// rows come from them. Pure functions; any thread. `orientation` is 1 to 8 throughout.
#pragma once

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

// kInternal: the box is empty, or reaches out of the picture.
Status check_box(const Box& box, const Size& picture);

Size oriented_size(const Size& stored, int orientation);

// The box of the stored picture whose pixels `upright` shows.
Box stored_box(const Box& upright, const Size& stored, int orientation);

// Turns the pixels of `from` (rows of a stored picture that cover stored_box(upright)) into `to`, which covers
// `upright`.
void orient_rows(const PixelRows& from, const Box& upright, int orientation, PixelRows& to);

}  // namespace spdld::image
