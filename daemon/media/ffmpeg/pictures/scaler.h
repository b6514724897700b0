// swscale as this room uses it: at its best quality, and with what a frame's colours mean. For this room alone. One
// thread.
#pragma once

#include <memory>

#include "daemon/media/ffmpeg/libraries/libraries.h"
#include "daemon/media/ffmpeg/pictures/video_frame.h"

namespace spdld::ffmpeg {

struct FreeScaler {
  void operator()(SwsContext* scaler) const { lib::sws_freeContext(scaler); }
};
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

// A format without its range, which stands beside it here: JPEG's formats are other ones with full range.
AVPixelFormat plain(AVPixelFormat format);
// "yuv420p"
const char* pixels_name(AVPixelFormat format);
// A frame's colours as it tells them, or as they are taken to be where it tells nothing.
VideoColours colours_of(const AVFrame& frame);

struct ScalerKey {
  Size from, to;
  AVPixelFormat from_format = AV_PIX_FMT_NONE, to_format = AV_PIX_FMT_NONE;
  VideoColours from_colours, to_colours;
  int field = 0;  // 1, 2: the picture is a frame's even lines, or its odd ones, whose chroma lies elsewhere
  friend bool operator==(const ScalerKey&, const ScalerKey&) = default;
};

// Bicubic. Null: swscale has no way between these formats.
Scaler make_scaler(const ScalerKey& key);

}  // namespace spdld::ffmpeg
