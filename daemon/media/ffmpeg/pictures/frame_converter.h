// Frames of another size or with other pixels than a stream began with, brought to these by swscale's bicubic filter,
// as the ffmpeg program does it. A pure function of the frame. For this room alone; one thread.
#pragma once

#include <array>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/libraries/frame_pool.h"
#include "daemon/media/ffmpeg/libraries/handles.h"
#include "daemon/media/ffmpeg/pictures/scaler.h"

namespace spdld::ffmpeg {

// The size and the pixels that a stream began with.
struct FrameLook {
  Size picture;
  AVPixelFormat pixels = AV_PIX_FMT_NONE;  // none: frames keep theirs
  friend bool operator==(const FrameLook&, const FrameLook&) = default;
};

class FrameConverter {
 public:
  // `memory` counts what frames take; null: nobody counts.
  explicit FrameConverter(media::SampleMemory* memory) : pool_(memory) {}

  // The frame itself where it looks so, or else another one, which is valid until the next call. Its colours mean what
  // they meant: neither range nor matrix is converted. `has_fields`: its even and its odd lines are of two moments,
  // and are kept apart. kMemory: there is no room now; kContent: swscale has no way to convert it.
  Result<const AVFrame*> converted(const AVFrame& frame, const FrameLook& look, bool has_fields);
  void shrink(size_t bytes_max) { pool_.shrink(bytes_max); }

 private:
  Status scale(const AVFrame& from, AVFrame& to, const ScalerKey& key);

  FramePool pool_;  // of its own: decoders find memory as they left it
  FrameHandle out_;
  struct Kept {
    ScalerKey key;
    Scaler scaler;
  };
  std::array<Kept, 3> kept_;  // of frames, and of each field
};

}  // namespace spdld::ffmpeg
