#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr std::string_view kPickOfRow = "row";  // the value of `pick` that takes the row's clip
constexpr double kClipFramesMax = 1024, kClipsMax = 64;

// Frames that are spread over the whole video have no distance of their own.
bool is_spread(const OperationSpec& spec) { return spec.text("pick") == "uniform" || spec.text("pick") == "segments"; }

std::string bind_clip(const OperationSpec& spec, Signature& signature) {
  if (signature.bytes().origin == Origin::kName)
    return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.bytes().origin == Origin::kJson)
    return "can't decode a JSON value: it is a number or a text, not a video";
  signature = image(spec.text("colours") == "grey" ? 1 : 3, 8);
  signature.picture().frames = spec.integer("frames");
  if (spec.integer("clips") > 1) signature.picture().clips = spec.integer("clips");
  return "";
}

// Where [rows] says where the clip lies, nothing else may.
void check_clip_of_row(const OperationSpec& spec, const Complain& complain) {
  if (spec.integer("clips") > 1) complain("clips", "can't stand beside pick = \"row\", which takes the row's clip");
  if (spec.flag("key_frames"))
    complain("key_frames", "can't stand beside pick = \"row\": clips of rows have all frames");
  for (const char* const end : {"start", "end"})
    if (!spec.text(end).empty()) complain(end, "can't stand beside pick = \"row\", which takes clips of whole videos");
}

void check_clip(OperationSpec& spec, const Complain& complain) {
  check_draw(spec, complain);
  if (spec.text("pick") == kPickOfRow) check_clip_of_row(spec, complain);
  const bool has_stride = spec.integer("stride") != 1, has_fps = spec.number("fps") > 0;
  if (has_stride && has_fps)
    complain("fps", "can't stand beside stride: one of them says how far the frames of a clip lie apart");
  if (has_fps && spec.flag("key_frames"))
    complain("fps", "can't stand beside key_frames: key frames have no rate, and stride counts them");
  if (!is_spread(spec)) return;
  if (spec.integer("clips") > 1)
    complain("clips", "can't stand beside pick = \"" + spec.text("pick") + "\", which spreads the frames of one clip");
  const std::string end =
      " can't stand beside pick = \"" + spec.text("pick") + "\", which spreads the frames over the " + "whole video";
  if (has_stride) complain("stride", end.substr(1));
  if (has_fps) complain("fps", end.substr(1));
}

std::vector<ExtraTensor> clip_facts(const OperationSpec& spec) {
  std::vector<ExtraTensor> facts;
  const auto add = [&](std::string_view parameter, DType dtype, std::vector<int64_t> shape) {
    const std::string& name = spec.text(parameter);
    if (!name.empty()) facts.push_back({name, parameter, dtype, std::move(shape)});
  };
  const int64_t clips = spec.integer("clips"), frames = spec.integer("frames");
  add("times", DType::kFloat64, clips > 1 ? std::vector{clips, frames} : std::vector{frames});
  add("valid", DType::kInt64, {clips});
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
  const Parameter clips{.name = "clips",
                        .type = ParameterType::kInteger,
                        .help =
                            "so many clips of the video, all with one geometry. Where there are several, they are the "
                            "first dimension of a sample's tensor, before the frames",
                        .fallback = Value(int64_t{1}),
                        .min = 1,
                        .max = kClipsMax};
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
  OperationType type = {
      .name = "decode-video",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kImage,
      .help =
          "Decode a clip of a video (what FFmpeg reads: H.264, HEVC, VP8, VP9, AV1, MPEG-4, MJPEG and others) "
          "to RGB or grey of 8 bits. Operations on pictures follow, with one geometry for all frames.",
      .parameters =
          {frames, clips, stride, fps,
           choice(
               "pick",
               "where the clip lies: anywhere, by a draw; in the middle (of several clips, in the "
               "middles of as many equal parts); at the start (several ones follow one another); or where [rows] "
               "with kind = \"clips\" says (row). Frames of the whole video lie evenly spaced (uniform), or there is "
               "one of each of as many equal parts, by a draw (segments)",
               {"random", "center", "start", "uniform", "segments", "row"}, "random"),
           flag("key_frames", "choose among the video's key frames alone, which are decoded without any other frame",
                false),
           choice("beyond",
                  "what stands for frames behind the end of a video that is shorter than a clip: its last "
                  "frame, the frames from its start on, or nothing, so that the sample is bad",
                  {"repeat", "wrap", "bad"}, "repeat"),
           flag("square_pixels",
                "frames are resized to the shape in which players show them, where the video's samples are not square; "
                "false: the samples are the pixels",
                true),
           choice("interlaced",
                  "frames whose even and odd lines are of two moments: their first field, with interpolated lines "
                  "between its own (deinterlace), the frames as they are (keep), or none, so that the sample is bad",
                  {"deinterlace", "keep", "refuse"}, "deinterlace"),
           choice("colours", "of the pixels: grey is the video's luma", {"rgb", "grey"}, "rgb"),
           output_name("times",
                       "name of an extra output, float64 [B, (clips,) frames]: when each frame is shown, in "
                       "seconds from the video's first frame on; none when empty"),
           output_name("valid",
                       "name of an extra output, int64 [B, clips]: how many frames of each clip lie within the "
                       "video; none when empty"),
           draw()},
      .bind = bind_clip,
      .check = check_clip,
      .extras = clip_facts,
      .medium = PictureTraits{.view_part = ViewPart::kLeads},
      .decodes = true,
      .tells = Told::kClipStart,
      .asks = time_part_asks(),
      .row_piece = {RowKind::kClips, "pick", kPickOfRow}};
  for (Parameter& parameter : time_part()) type.parameters.push_back(std::move(parameter));
  return type;
}

}  // namespace spdld::config::ops
