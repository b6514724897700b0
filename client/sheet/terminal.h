// A canvas as text that a terminal shows: as a picture where the terminal can, else as coloured blocks. Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "client/sheet/canvas.h"

namespace spdld::sheet {

enum class Graphics : uint8_t { kBlocks, kKitty, kSixel };

// The graphics that the terminal knows, as its environment says. The terminal is not asked, since a terminal that does
// not know the question would leave its asker waiting. `variable` gives a variable's value; empty: it is not set.
Graphics graphics_of(const std::function<std::string(const char*)>& variable);

// Two pixels in each character, one above the other, in colours of 24 bits.
std::string blocks_text(const Canvas& canvas);
// kitty's graphics protocol (https://sw.kovidgoyal.net/kitty/graphics-protocol): the bytes of a PNG file, in pieces.
std::string kitty_text(std::string_view png);
// DEC's sixels, in 6 x 6 x 6 colours.
std::string sixel_text(const Canvas& canvas);

}  // namespace spdld::sheet
