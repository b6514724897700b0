// A canvas as the bytes of a PNG file (https://www.w3.org/TR/png-3). The only place that writes PNG. Pure function; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "client/sheet/canvas.h"

namespace spdld::sheet {

inline constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

// Precondition: no side of the canvas is empty.
std::string png_of(const Canvas& canvas);

}  // namespace spdld::sheet
