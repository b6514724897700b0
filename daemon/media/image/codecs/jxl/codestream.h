// Looks at a JPEG XL before libjxl decodes it: libjxl 0.7 takes all memory for a frame whose header claims a gigantic
// size, or ends the process. Frames whose size it would not tell beforehand are refused here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::image {

inline constexpr char kJxlName[] = "a JPEG XL";

// The codestream, without the boxes around it (ISO/IEC 18181-2). Parts are put together in `memory`.
std::span<const uint8_t> jxl_codestream(std::span<const uint8_t> bytes, std::vector<uint8_t>& memory);

// Whether the frame that begins here can be decoded on its own (ISO/IEC 18181-1, frame_header). kUnsupported: it is a
// part of others, or needs others, or draws splines, whose cost nothing limits.
Status check_jxl_frame(std::span<const uint8_t> frame);

}  // namespace spdld::image
