// Changes of colours with the values that Pillow gives (ImageOps and ImageEnhance), on pictures of 8 bits with 1 or 3
// channels. They differ from torchvision's in how a grey, a mean and a mixture are rounded. Pure functions; any thread.
#pragma once

#include <cstdint>

#include "daemon/media/image/adjustments/adjust_pixels.h"

namespace spdld::image {

// ImageOps.autocontrast, of one channel.
ValueTable pillow_autocontrast_table(const Histogram& counts);
// ImageEnhance.Contrast: away from the mean of the whole picture's grey.
ValueTable pillow_contrast_table(const AdjustedPicture& picture, float factor);
// ImageEnhance.Color. Precondition: three channels.
void pillow_saturate(const AdjustedPicture& picture, float factor);
// ImageEnhance.Sharpness. `copy` is the same picture in other memory.
void pillow_sharpen(const AdjustedPicture& picture, const uint8_t* copy, float factor);

}  // namespace spdld::image
