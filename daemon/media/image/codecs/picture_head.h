// The size of a picture by its first bytes, without the checks that a decoder makes of the rest. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "daemon/base/picture.h"

namespace spdld::image {

// Of a JPEG whose head reaches the first scan, so that all segments which a decoder looks at are in it; none: it does
// not, or the decoder would refuse it. With `exif`, as the EXIF orientation turns the picture.
std::optional<Size> jpeg_size_in_head(std::span<const uint8_t> head, bool exif);

}  // namespace spdld::image
