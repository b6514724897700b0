// The subframes of a FLAC frame (RFC 9639, 9.2). The hot loops of the decoder. For this room alone.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/media/flac/channels.h"

namespace spdld::flac {

// `coded`: from behind the frame's header to the frame's end, behind which zeroes can be read, as FrameDecoder has
// it. False: something is not as encoders write it, or a sample has more than its bits.
[[nodiscard]] bool decode_subframes(std::span<const uint8_t> coded, const Planes& planes);

}  // namespace spdld::flac
