// Several pictures of one file, in order: the frames of an animation, or the pages of a TIFF. They are decoded in one
// pass over the file and given one after another, so that no more than one of them is in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

// Takes a frame's rows, which are valid during the call. Its error ends the decoding.
using FrameSink = std::function<Status(const PixelRows& rows)>;

inline constexpr uint64_t kFramesMax = 10'000;  // of a file whose frames are wanted

// Which `wanted` frames of `count` are taken: evenly spaced ones from the first to the last, as numpy.linspace(0,
// count - 1, wanted) gives them, rounded to even. The numbers never fall; with fewer frames than are wanted some occur
// more than once. Precondition: both are at least 1.
void spread_frames(uint64_t count, int wanted, std::vector<int>& frames);

// Whether a file may have `count` frames. kContent: "a GIF of more than 10000 frames ...". The file is `name`, with its
// article; it has frames, or whatever `noun` says.
Status check_frame_count(const std::string& name, uint64_t count, const std::string& noun = "frame");

// kUnsupported: "several frames are wanted, and this spdld decodes one picture of a PNG".
Error one_picture_of(const std::string& name);

}  // namespace spdld::image
