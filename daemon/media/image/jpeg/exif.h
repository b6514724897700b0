// The EXIF orientation of a JPEG, read from its bytes before anything is decoded. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::image {

// The orientation (1 to 8, see tiff_orientation()) that the EXIF segment tells; 1 where there is no such segment. Reads
// marker segments up to the first scan and never outside `jpeg`.
int exif_orientation(std::span<const uint8_t> jpeg);

}  // namespace spdld::image
