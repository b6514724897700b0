// Which frames of a video a clip has. A pure function of the video's index and of draws; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "config/spec.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/video_index.h"

namespace spdld::video {

struct Clip {
  std::vector<uint32_t> frames;  // by their numbers in the index; some may come more than once, and not in order
  size_t valid = 0;              // the first so many lie within the video
};

class ClipRule {
 public:
  // Of decode-video.
  explicit ClipRule(const config::OperationSpec& spec);

  size_t frames() const { return frames_; }
  // Reuses the memory of `clip`. kContent: the video is shorter than the clip, and that is not allowed.
  Status choose(const ffmpeg::VideoIndex& index, const Draws& draws, Clip& clip) const;

 private:
  enum class Pick : uint8_t { kRandom, kCenter, kStart, kUniform, kSegments };
  enum class Beyond : uint8_t { kRepeat, kWrap, kBad };

  void spread(uint64_t count, const Draws& draws, Clip& clip) const;
  Status choose_by_stride(uint64_t count, const Draws& draws, Clip& clip) const;
  Status choose_by_rate(const ffmpeg::VideoIndex& index, const Draws& draws, Clip& clip) const;

  uint64_t frames_, stride_;
  double fps_;
  Pick pick_;
  Beyond beyond_;
  uint64_t draw_;  // key
};

}  // namespace spdld::video
