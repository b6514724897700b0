// The parameters with which a decoder of a video's codec is opened. For this room alone.
#pragma once

#include "daemon/media/ffmpeg/handles.h"

namespace spdld::ffmpeg {

struct VideoParameters {
  CodecParameters codec;
  const AVCodec* decoder = nullptr;
};

}  // namespace spdld::ffmpeg
