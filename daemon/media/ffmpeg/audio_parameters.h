// The parameters that a decoder of a sound's codec is opened with. For this room alone.
#pragma once

#include "daemon/media/ffmpeg/handles.h"

namespace spdld::ffmpeg {

struct AudioParameters {
  CodecParameters codec;
  const AVCodec* decoder = nullptr;
};

}  // namespace spdld::ffmpeg
