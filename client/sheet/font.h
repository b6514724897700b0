// A small font, so that a sheet can name what it shows. Constant data; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace spdld::sheet {

inline constexpr int kGlyphColumns = 5;
// The rows of a character from its top, each with its leftmost pixel in the highest of five bits.
using Glyph = std::array<uint8_t, 7>;

// A box for what is no printable character of ASCII.
const Glyph& glyph_of(char character);

}  // namespace spdld::sheet
