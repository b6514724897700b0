// The orientation in an EXIF block, which is a small TIFF file. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace spdld::image {

// 1 to 8 (JEITA CP-3451, tag 0x0112), from a TIFF block in either byte order; 1 where there is none, or where the block
// is damaged: a broken note about a picture is no reason to refuse it. Never reads outside `tiff`.
int tiff_orientation(std::span<const uint8_t> tiff);

// The TIFF block behind EXIF's name ("Exif\0\0"); none: `block` does not begin with that name.
std::optional<std::span<const uint8_t>> behind_exif_name(std::span<const uint8_t> block);

}  // namespace spdld::image
