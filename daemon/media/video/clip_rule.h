// Which frames of a video a clip has. A pure function of the video's index and of draws; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "config/spec.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/base/row_part.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "daemon/media/time_part.h"

namespace spdld::video {

// One clip, or several ones of the same length, one behind the other.
struct Clip {
  std::vector<uint32_t> frames;  // by their numbers in the index; some may come more than once, and not in order
  std::vector<size_t> valid;     // of each clip, how many of its first frames lie within the video
  std::vector<uint32_t> keys;    // scratch: the video's key frames, where the rule chooses among them
};

// The video's duration, at least 1.
uint64_t duration_ns(const ffmpeg::VideoIndex& index);

class ClipRule {
 public:
  // Of decode-video.
  explicit ClipRule(const config::OperationSpec& spec);

  // Reuses the memory of `clip`. Only frames that begin within the part are chosen, or, by rate, frames that are
  // shown within it. kContent: the part has no frames, or it is shorter than the clip, and that is not allowed.
  // `row` says where the clip lies, where the rule takes a row's clip; kContent: it was counted of another video.
  Status choose(const ffmpeg::VideoIndex& index, const media::TimePart& part, const Draws& draws, Clip& clip,
                const RowPart& row = {}) const;

 private:
  enum class Pick : uint8_t { kRandom, kCenter, kStart, kUniform, kSegments, kRow };
  enum class Beyond : uint8_t { kRepeat, kWrap, kBad };
  struct Moments;  // of a part of a video

  bool is_spread() const { return pick_ == Pick::kUniform || pick_ == Pick::kSegments; }
  const char* frames_word() const { return has_key_frames_ ? " key frames" : " frames"; }
  Status choose_spread(uint64_t count, const Draws& draws, Clip& clip) const;
  void spread(uint64_t count, const Draws& draws, Clip& clip) const;
  Status choose_by_stride(uint64_t count, const Draws& draws, Clip& clip, const RowPart& row) const;
  Status choose_by_rate(const Moments& moments, const Draws& draws, Clip& clip, const RowPart& row) const;
  void take_by_stride(uint64_t start, uint64_t count, Clip& clip) const;
  void take_by_rate(double start_s, const Moments& moments, Clip& clip) const;

  uint64_t frames_, clips_, stride_;
  bool has_key_frames_;
  double fps_;
  Pick pick_;
  Beyond beyond_;
  uint64_t draw_;  // key
};

}  // namespace spdld::video
