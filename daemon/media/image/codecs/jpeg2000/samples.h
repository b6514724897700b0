// The decoded components of a JPEG 2000 as rows of pixels. Pure; any thread.
#pragma once

#include <openjpeg.h>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

// Writes all pixels of `image` into `rows`, whose format and picture are set. A sample is scaled to the rows' bits: the
// upper 8 of more are taken, as Pillow takes them. Two channels are grey with alpha, and four are RGB with alpha.
// kContent: the components are not as the header claims.
Status write_pixels(const opj_image_t& image, PixelRows& rows);

}  // namespace spdld::image
