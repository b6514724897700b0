// A video's planes in the terms of the kernels that resample pictures. Pure functions; any thread.
#pragma once

#include "daemon/media/ffmpeg/pictures/video_frame.h"
#include "daemon/media/image/codecs/planes.h"

namespace spdld::video {

// By ITU-T H.273, table 4 (the matrix's Kr and Kb) and 8.3 (the range).
PlanesColours colours_of(const ffmpeg::VideoColours& colours);
// `planes` and `colours` are borrowed.
PlanesView view_of(const ffmpeg::VideoPlanes& planes, const PlanesColours& colours);

}  // namespace spdld::video
