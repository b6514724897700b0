// How much memory the operations on a picture take beside the tensor and the decoded picture: pictures between passes,
// copies for blurs and warps, sums of mixes, displacements. Pure; any thread.
#pragma once

#include <cstdint>

#include "daemon/base/picture.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::image {

inline constexpr char kScratchTooLarge[] =
    "its operations need more memory than the operator's limit (limits.sample_bytes_max): let the picture be smaller "
    "before them";

// At most, for a geometry that is resolved. `decoded`: of the pixels that the first pass takes. `is_followed`: masks,
// boxes and points may take the geometry, and so go through its warps as well.
uint64_t scratch_bytes(const Geometry& geometry, const PixelFormat& decoded, bool is_followed);

}  // namespace spdld::image
