#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

constexpr double kClipFramesMax = 1024;

// Frames that are spread over the whole video have no distance of their own.
bool is_spread(const OperationSpec& spec) { return spec.text("pick") == "uniform" || spec.text("pick") == "segments"; }

std::string bind_clip(const OperationSpec& spec, Signature& signature) {
  if (signature.origin == Origin::kName) return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.origin == Origin::kJson) return "can't decode a JSON value: it is a number or a text, not a video";
  signature = image(spec.text("colours") == "grey" ? 1 : 3, 8);
  signature.frames = spec.integer("frames");
  return "";
}

void check_clip(OperationSpec& spec, const Complain& complain) {
  check_draw(spec, complain);
  const bool has_stride = spec.integer("stride") != 1, has_fps = spec.number("fps") > 0;
  if (has_stride && has_fps)
    complain("fps", "can't stand beside stride: one of them says how far the frames of a clip lie apart");
  if (!is_spread(spec)) return;
  const std::string end =
      " can't stand beside pick = \"" + spec.text("pick") + "\", which spreads the frames over the " + "whole video";
  if (has_stride) complain("stride", end.substr(1));
  if (has_fps) complain("fps", end.substr(1));
}

// No form of a video is kept beside its bytes.
std::optional<Hindrance> video_hindrance(const OperationSpec&) {
  return Hindrance{"frames",
                   "of a video can't stand beside cache = \"decoded\", which keeps JPEGs: write cache = \"encoded\", "
                   "\"off\" or \"auto\""};
}

std::vector<ExtraTensor> clip_facts(const OperationSpec& spec) {
  std::vector<ExtraTensor> facts;
  const auto add = [&](std::string_view parameter, DType dtype, std::vector<int64_t> shape) {
    const std::string& name = spec.text(parameter);
    if (!name.empty()) facts.push_back({name, parameter, dtype, std::move(shape)});
  };
  add("times", DType::kFloat64, {spec.integer("frames")});
  add("valid", DType::kInt64, {1});
  return facts;
}

Parameter output_name(std::string_view name, std::string_view help) {
  return {.name = name, .type = ParameterType::kText, .help = help, .fallback = Value(std::string())};
}

}  // namespace

OperationType decode_video() {
  const Parameter frames{.name = "frames",
                         .type = ParameterType::kInteger,
                         .help = "of a clip: the first dimension of a sample's tensor",
                         .min = 1,
                         .max = kClipFramesMax};
  const Parameter stride{.name = "stride",
                         .type = ParameterType::kInteger,
                         .help = "take each stride-th frame",
                         .fallback = Value(int64_t{1}),
                         .min = 1,
                         .max = 10'000};
  const Parameter fps{.name = "fps",
                      .type = ParameterType::kNumber,
                      .help =
                          "take the frames that are shown at so many moments a second, whatever the video's own "
                          "rate is: a frame comes more than once, or is left out; 0: stride says it",
                      .fallback = Value(0.0),
                      .min = 0,
                      .max = 1000};
  return {
      .name = "decode-video",
      .takes = Kind::kBytes,
      .gives = Kind::kImage,
      .help =
          "Decode a clip of a video (what FFmpeg reads: H.264, HEVC, VP8, VP9, AV1, MPEG-4, MJPEG and others) "
          "to RGB or grey of 8 bits. Operations on pictures follow, with one geometry for all frames.",
      .parameters = {frames, stride, fps,
                     choice("pick",
                            "where the clip lies: anywhere, by a draw; in the middle; at the start; or frames of "
                            "the whole video, evenly spaced (uniform), or one of each of as many equal parts, by a "
                            "draw (segments)",
                            {"random", "center", "start", "uniform", "segments"}, "random"),
                     choice("beyond",
                            "what stands for frames behind the end of a video that is shorter than a clip: its last "
                            "frame, the frames from its start on, or nothing, so that the sample is bad",
                            {"repeat", "wrap", "bad"}, "repeat"),
                     choice("colours", "of the pixels: grey is the video's luma", {"rgb", "grey"}, "rgb"),
                     output_name("times",
                                 "name of an extra output, float64 [B, frames]: when each frame is shown, in "
                                 "seconds from the video's first frame on; none when empty"),
                     output_name("valid",
                                 "name of an extra output, int64 [B, 1]: how many frames of the clip lie within the "
                                 "video; none when empty"),
                     draw()},
      .bind = bind_clip,
      .check = check_clip,
      .extras = clip_facts,
      .hindrance = video_hindrance,
      .view_part = ViewPart::kLeads};
}

}  // namespace spdld::config::ops
