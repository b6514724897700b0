// The orientation that a JPEG tells beside its pixels, read from its bytes before anything is decoded. Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::image {

// The orientation (1 to 8, see picture_orientation()) that the EXIF segment tells, or XMP where EXIF does not; 1 where
// neither does. Reads marker segments up to the first scan and never outside `jpeg`.
int exif_orientation(std::span<const uint8_t> jpeg);

}  // namespace spdld::image
