// The orientation that the blocks beside a picture tell: its EXIF block, which is a small TIFF file, or its XMP text.
// Pillow's rules: where both tell one, EXIF counts. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace spdld::image {

// The value of the tag of orientation (JEITA CP-3451, 0x0112) in a TIFF block of either byte order, 1 to 8; other
// values count as 1. None: the block has no such tag. 1 where the block is damaged: a broken note about a picture is no
// reason to refuse it. Never reads outside `tiff`.
std::optional<int> tiff_orientation(std::span<const uint8_t> tiff);

// The value of "tiff:Orientation" in an XMP text; none: the text has no such property.
std::optional<int> xmp_orientation(std::span<const uint8_t> xmp);

// Both together, 1 to 8; empty spans: the picture has none.
int picture_orientation(std::span<const uint8_t> tiff, std::span<const uint8_t> xmp);

// The TIFF block behind EXIF's name ("Exif\0\0"), which some writers put there twice. `block` itself, where it does not
// begin with that name.
std::span<const uint8_t> behind_exif_names(std::span<const uint8_t> block);

}  // namespace spdld::image
