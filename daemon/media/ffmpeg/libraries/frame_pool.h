// Memory for the frames of videos, which a thread keeps from decoder to decoder: a decoder itself lives for one stretch
// of one video, and most of what it costs to open one is the system's pages for its frames. For this room alone. One
// thread, for frames too.
//
// The size and the number of frames stand within the video, where the container may say otherwise: the pool asks for
// memory as frames come.
#pragma once

#include <cstddef>
#include <memory>

#include "daemon/base/picture.h"
#include "daemon/media/ffmpeg/libraries/libraries.h"
#include "daemon/media/sample_memory.h"

namespace spdld::ffmpeg {

class FramePool {
 public:
  // `memory` counts what frames take; null: nobody counts.
  explicit FramePool(media::SampleMemory* memory = nullptr);
  ~FramePool();  // frames that are still held keep their memory
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Lets a decoder that is not opened yet take the memory of its frames from here, where it may have such memory. It
  // finds zeros, as it does in a new process: no frame of another decoder. From then on decoders that were served
  // before it are not asked for frames. `picture`: of the container. False: there is no room now for the frames of a
  // decoder that takes memory of its own.
  bool serve(AVCodecContext& context, const Size& picture);
  // Asks for the memory of a decoder that takes its own, once its frames are known to be of this size. False: no room.
  bool pay_for(const AVCodecContext& context, const Size& picture);
  // Gives the frame, whose size and format are set, memory for its planes, with 64 bytes behind each that can be read.
  // False: there is no room for it now.
  bool lend_frame(AVFrame& frame);
  // Gives back memory that no frame holds, above so much for each plane, and above eight times as much for all, and
  // above the half of what the thread may keep.
  void shrink(size_t bytes_max);
  // The memory that is kept, held or not. For tests.
  size_t bytes() const;

 private:
  struct Inside;
  const std::shared_ptr<Inside> inside_;
};

}  // namespace spdld::ffmpeg
