#include "daemon/media/video/clip_rule.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "daemon/media/image/codecs/frames.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::video {
namespace {

Error too_short(const std::string& has, const std::string& takes) {
  return {Trouble::kContent, "the video has " + has + ", and the clip takes " + takes +
                                 ": beyond = \"repeat\" or \"wrap\" would fill it up"};
}

struct Frames {
  uint32_t first, end;
};

// The frames that begin within a part. Times count from the first frame's.
Frames frames_in(const ffmpeg::VideoIndex& index, const media::TimePart& part) {
  const auto begins_before = [&](double moment_s) {
    const auto found = std::partition_point(index.frames.begin(), index.frames.end(), [&](const auto& frame) {
      return static_cast<double>(frame.time - index.frames.front().time) * index.tick_s < moment_s;
    });
    return static_cast<uint32_t>(found - index.frames.begin());
  };
  const uint32_t first = begins_before(part.start_s);
  return {first, std::max(first, begins_before(part.end_s))};
}

void list_keys(const ffmpeg::VideoIndex& index, const Frames& frames, std::vector<uint32_t>& keys) {
  for (uint32_t i = frames.first; i < frames.end; ++i)
    if (index.packets[index.frames[i].packet].is_key) keys.push_back(i);
  if (keys.empty()) keys.push_back(frames.first);  // the part has no key frame
}

std::string seconds(double s) {
  std::string text = std::to_string(s);
  return text.substr(0, text.find('.') + 3) + " s";
}

// Whether the video is as long as when its clips were counted.
Status check_counted(const ffmpeg::VideoIndex& index, bool by_duration, const RowPart& row) {
  const uint64_t length = by_duration ? duration_ns(index) : index.frames.size();
  if (length == row.length) return Done{};
  const std::string unit = by_duration ? " ns" : " frames";
  return Error{Trouble::kContent, "the video has " + std::to_string(length) + unit + " and not the " +
                                      std::to_string(row.length) +
                                      " for which its clips were counted: was it replaced?"};
}

}  // namespace

uint64_t duration_ns(const ffmpeg::VideoIndex& index) {
  constexpr double kNsPerSecond = 1e9;
  return static_cast<uint64_t>(std::max(std::round(index.duration_s() * kNsPerSecond), 1.0));
}

// Moments count from the part's start.
struct ClipRule::Moments {
  const ffmpeg::VideoIndex& index;
  double start_s, length_s;
  uint32_t last;  // the part's last frame

  // The frame of the part that is shown at this moment: the last one that begins by then.
  uint32_t shown_at(double moment_s) const {
    const double tick = (start_s + moment_s) / index.tick_s + static_cast<double>(index.frames.front().time);
    const auto behind =
        std::upper_bound(index.frames.begin(), index.frames.end(), tick,
                         [](double at, const auto& frame) { return at < static_cast<double>(frame.time); });
    return std::min(static_cast<uint32_t>(std::max<ptrdiff_t>(behind - index.frames.begin() - 1, 0)), last);
  }
};

ClipRule::ClipRule(const config::OperationSpec& spec)
    : frames_(static_cast<uint64_t>(spec.integer("frames"))),
      clips_(static_cast<uint64_t>(spec.integer("clips"))),
      stride_(static_cast<uint64_t>(spec.integer("stride"))),
      has_key_frames_(spec.flag("key_frames")),
      fps_(spec.number("fps")),
      draw_(image::draw_of(spec)) {
  const std::string_view pick = spec.text("pick"), beyond = spec.text("beyond");
  pick_ = pick == "random"    ? Pick::kRandom
          : pick == "center"  ? Pick::kCenter
          : pick == "start"   ? Pick::kStart
          : pick == "uniform" ? Pick::kUniform
          : pick == "row"     ? Pick::kRow
                              : Pick::kSegments;
  beyond_ = beyond == "repeat" ? Beyond::kRepeat : beyond == "wrap" ? Beyond::kWrap : Beyond::kBad;
}

Status ClipRule::choose(const ffmpeg::VideoIndex& index, const media::TimePart& part, const Draws& draws, Clip& clip,
                        const RowPart& row) const {
  clip.frames.clear();
  clip.valid.clear();
  clip.keys.clear();
  if (pick_ == Pick::kRow) {
    if (const Status same = check_counted(index, fps_ > 0, row); !same) return same;
  }
  const Frames frames = frames_in(index, part);
  if (frames.first == frames.end)
    return Error{Trouble::kContent,
                 "no frame of the video's " + seconds(index.duration_s()) + " begins " + part.text()};
  if (fps_ > 0) {
    const double length_s = std::min(part.end_s, index.duration_s()) - part.start_s;
    return choose_by_rate({index, part.start_s, length_s, frames.end - 1}, draws, clip, row);
  }
  if (has_key_frames_) list_keys(index, frames, clip.keys);
  const uint64_t count = has_key_frames_ ? clip.keys.size() : frames.end - frames.first;
  const Status chosen = is_spread() ? choose_spread(count, draws, clip) : choose_by_stride(count, draws, clip, row);
  for (uint32_t& frame : clip.frames) frame = has_key_frames_ ? clip.keys[frame] : frames.first + frame;
  return chosen;
}

Status ClipRule::choose_spread(uint64_t count, const Draws& draws, Clip& clip) const {
  if (beyond_ == Beyond::kBad && count < frames_)
    return too_short(std::to_string(count) + frames_word(), std::to_string(frames_));
  spread(count, draws, clip);
  clip.valid.push_back(frames_);
  return Done{};
}

// A video of fewer frames gives some of them more than once.
void ClipRule::spread(uint64_t count, const Draws& draws, Clip& clip) const {
  if (pick_ == Pick::kUniform) {
    std::vector<int> frames;
    image::spread_frames(count, static_cast<int>(frames_), frames);
    clip.frames.assign(frames.begin(), frames.end());
    return;
  }
  Draw draw = draws.named(draw_);
  for (uint64_t i = 0; i < frames_; ++i) {
    const uint64_t first = i * count / frames_, end = std::max((i + 1) * count / frames_, first + 1);
    clip.frames.push_back(static_cast<uint32_t>(first + draw.below(end - first)));
  }
}

Status ClipRule::choose_by_stride(uint64_t count, const Draws& draws, Clip& clip, const RowPart& row) const {
  const uint64_t span = (frames_ - 1) * stride_ + 1, room = count > span ? count - span : 0;
  const uint64_t step = pick_ == Pick::kStart ? frames_ * stride_ : 0;  // from a clip's start to the next one's
  const uint64_t before = pick_ == Pick::kRow ? static_cast<uint64_t>(row.start) : 0;
  const uint64_t all = before + (clips_ - 1) * step + span;
  if (count < all && beyond_ == Beyond::kBad)
    return too_short(std::to_string(count) + frames_word(), std::to_string(all) + " with its stride");
  Draw draw = draws.named(draw_);
  for (uint64_t i = 0; i < clips_; ++i) {
    uint64_t start = before + i * step;
    if (pick_ == Pick::kRandom) start = draw.below(room + 1);
    if (pick_ == Pick::kCenter) start = (2 * i + 1) * room / (2 * clips_);
    take_by_stride(start, count, clip);
  }
  return Done{};
}

void ClipRule::take_by_stride(uint64_t start, uint64_t count, Clip& clip) const {
  size_t valid = frames_;
  for (uint64_t i = 0; i < frames_; ++i) {
    uint64_t frame = start + i * stride_;
    if (frame >= count) {
      valid = std::min<size_t>(valid, i);
      frame = beyond_ == Beyond::kWrap ? frame % count : count - 1;
    }
    clip.frames.push_back(static_cast<uint32_t>(frame));
  }
  clip.valid.push_back(valid);
}

Status ClipRule::choose_by_rate(const Moments& moments, const Draws& draws, Clip& clip, const RowPart& row) const {
  const double length = moments.length_s, span = static_cast<double>(frames_) / fps_,
               room = std::max(length - span, 0.0), step = pick_ == Pick::kStart ? span : 0;
  // The last moment has to be within the part.
  const double before = pick_ == Pick::kRow ? row.start : 0;
  const double last = before + static_cast<double>(clips_ - 1) * step + static_cast<double>(frames_ - 1) / fps_;
  if (last >= length && beyond_ == Beyond::kBad) return too_short(seconds(length), "more than " + seconds(last));
  Draw draw = draws.named(draw_);
  for (uint64_t i = 0; i < clips_; ++i) {
    double start = before + static_cast<double>(i) * step;
    if (pick_ == Pick::kRandom) start = draw.uniform(0, room);
    if (pick_ == Pick::kCenter) start = static_cast<double>(2 * i + 1) * room / static_cast<double>(2 * clips_);
    take_by_rate(start, moments, clip);
  }
  return Done{};
}

// The moment 0 is always within the part, also where its one frame has no duration.
void ClipRule::take_by_rate(double start_s, const Moments& moments, Clip& clip) const {
  const double length = moments.length_s;
  size_t valid = frames_;
  for (uint64_t i = 0; i < frames_; ++i) {
    double moment = start_s + static_cast<double>(i) / fps_;
    if (moment >= length && moment > 0) {
      valid = std::min<size_t>(valid, i);
      if (beyond_ == Beyond::kWrap && length > 0) moment = std::fmod(moment, length);
    }
    clip.frames.push_back(moments.shown_at(moment));
  }
  clip.valid.push_back(valid);
}

}  // namespace spdld::video
