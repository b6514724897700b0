// The EXIF orientation of a JPEG, read from its bytes before anything is decoded. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::image {

// 1 to 8 (JEITA CP-3451, tag 0x0112); 1 where there is none, or where the block is damaged: a broken note about a
// picture is no reason to refuse it. Reads marker segments up to the first scan and never outside `jpeg`.
int exif_orientation(std::span<const uint8_t> jpeg);

// The same from the TIFF block inside an EXIF segment (after "Exif\0\0"), in either byte order.
int tiff_orientation(std::span<const uint8_t> tiff);

}  // namespace spdld::image
