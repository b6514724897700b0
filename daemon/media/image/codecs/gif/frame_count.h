// The number of a GIF's frames, found without decoding any. Source: "Graphics Interchange Format, Version 89a"
// (CompuServe, 1990). Pure function; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/result.h"

namespace spdld::image {

// The frames of the file up to its trailer or its end; at most `most`. A frame counts where its header and its palette
// are there, as for giflib. kContent: something else than a frame stands behind one.
Result<uint64_t> gif_frame_count(std::span<const uint8_t> gif, uint64_t most);

}  // namespace spdld::image
