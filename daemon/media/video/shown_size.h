// The size at which players show a video's frames, where their samples are not square. A pure function; any thread.
#pragma once

#include "daemon/base/picture.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"

namespace spdld::video {

// The width changes, as in FFmpeg's "scale=iw*sar:ih", and is rounded to the nearest pixel. An aspect that can't be
// meant counts as none: beyond 1:8 or 8:1, or one by which the picture would be wider than 32,768 pixels or have more
// pixels than any picture may have.
Size shown_size(const Size& stored, const ffmpeg::SampleAspect& aspect);

}  // namespace spdld::video
