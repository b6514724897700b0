// Memory for the frames of videos, which a thread keeps from decoder to decoder: a decoder itself lives for one stretch
// of one video, and most of what it costs to open one is the system's pages for its frames. For this room alone. One
// thread, for frames too.
#pragma once

#include <cstddef>
#include <memory>

#include "daemon/media/ffmpeg/libraries.h"

namespace spdld::ffmpeg {

class FramePool {
 public:
  FramePool();
  ~FramePool();  // frames that are still held keep their memory
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Lets a decoder that is not opened yet take the memory of its frames from here, where it may have such memory. It
  // finds zeros, as it does in a new process: no frame of another decoder. From then on decoders that were served
  // before it are not asked for frames.
  void serve(AVCodecContext& context);
  // Gives back memory that no frame holds, above so much for each plane, and above eight times as much for all.
  void shrink(size_t bytes_max);
  // The memory that is kept, held or not. For tests.
  size_t bytes() const;

 private:
  struct Inside;
  const std::shared_ptr<Inside> inside_;
};

}  // namespace spdld::ffmpeg
