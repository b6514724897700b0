// The ICC profile in a JPEG's APP2 segments (ICC.1, annex B.4). A pure function.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"

namespace spdld::image {

// Of the segments before the first scan. kContent: parts of the profile are missing, or say what does not fit together.
Result<ColourProfile> jpeg_profile(std::span<const uint8_t> jpeg, bool is_grey);

}  // namespace spdld::image
