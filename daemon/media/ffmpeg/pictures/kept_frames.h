// All frames of a video, decoded, in one piece of memory behind its index: the form in which the cache keeps videos.
// The cache keeps the decoder's own samples, so that pixels are the same as without the cache. Any thread; objects by
// one at a time.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "daemon/media/ffmpeg/pictures/video_decoder.h"

namespace spdld::ffmpeg {

// The bytes that the form takes of a video whose frames are like this one; none: the form would be too large. `packed`:
// the index as packed() gives it. Containers do not tell the format of pixels, so that a frame has to.
std::optional<uint64_t> kept_frames_bytes(const VideoIndex& index, std::string_view packed, const VideoFrame& frame);

class KeptFramesWriter {
 public:
  // `memory` has kept_frames_bytes(), and is borrowed.
  KeptFramesWriter(const VideoIndex& index, std::string_view packed, const VideoFrame& frame, uint8_t* memory);
  // False: the frame has another size, another format, other colours or samples of another shape than that one. Such a
  // video has no form. Every frame is to be put once, in any order.
  bool put(uint32_t number, const VideoFrame& frame);

 private:
  uint8_t* const memory_;
};

class KeptFrames {
 public:
  // None: the bytes are no such form. `bytes` is borrowed.
  static std::optional<KeptFrames> open(std::span<const uint8_t> bytes);

  std::span<const uint8_t> packed_index() const;
  // Gives this frame to `sink`. Precondition: number < the count of the index's frames.
  Status give(uint32_t number, FrameMemory& memory, const VideoSink& sink) const;

 private:
  explicit KeptFrames(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::span<const uint8_t> bytes_;
};

}  // namespace spdld::ffmpeg
