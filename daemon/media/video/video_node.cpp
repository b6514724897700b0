#include "daemon/media/video/video_node.h"

#include <algorithm>
#include <cstring>

#include "config/steps.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/pictures/kept_frames.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"
#include "daemon/media/image/adjustments/adjustment.h"
#include "daemon/media/image/codecs/orient.h"
#include "daemon/media/image/kernels/resample.h"
#include "daemon/media/video/planes_of.h"
#include "daemon/media/video/shown_size.h"

namespace spdld::video {
namespace {

// Decoded frames that wait for further outputs; where they are more, each output decodes its own.
constexpr size_t kHeldBytesMax = size_t{256} << 20;
constexpr int kVersion = 4;  // raised where a clip gets other frames or pixels

// EXIF's orientation that turns a picture clockwise by so many degrees.
int orientation_of(int turn) { return turn == 90 ? 6 : turn == 180 ? 3 : turn == 270 ? 8 : 1; }

}  // namespace

void VideoWork::shrink(size_t bytes_max) {
  decoder.shrink(bytes_max);
  index.reset();
  indexed.reset();
  held.clear();
  memory.shrink(bytes_max);
  rows.memory.shrink(bytes_max);
  turned.memory.shrink(bytes_max);
}

VideoNode::VideoNode(const media::PlacedOperation& placed)
    : ProgramNode(false, PixelFormat{placed.spec.text("colours") == "grey" ? 1 : 3, 1}),
      output_(placed.output),
      index_id_(ffmpeg::kept_video_id()),
      rule_(placed.spec),
      part_(placed.spec),
      clip_frames_(static_cast<size_t>(placed.spec.integer("frames"))),
      is_grey_(placed.spec.text("colours") == "grey"),
      has_square_pixels_(placed.spec.flag("square_pixels")) {
  const std::string& interlaced = placed.spec.text("interlaced");
  interlaced_ = interlaced == "keep"     ? Interlaced::kKeep
                : interlaced == "refuse" ? Interlaced::kRefuse
                                         : Interlaced::kDeinterlace;
  size_t tensor = placed.extra;
  if (!placed.spec.text("times").empty()) times_tensor_ = tensor++;
  if (!placed.spec.text("valid").empty()) valid_tensor_ = tensor++;
}

std::vector<std::string> VideoNode::code() const {
  return {"clips " + std::to_string(kVersion), "resampler " + std::to_string(image::kResamplerVersion),
          ffmpeg::video_code()};
}

namespace {

// The field's video of the sample before means nothing any more.
void begin(media::Field& field, VideoWork& work) {
  if (field.is_begun) return;
  if (work.indexed == field.number) work.indexed.reset();
  field.is_begun = true;
}

void sort_once(std::vector<uint32_t>& frames) {
  std::sort(frames.begin(), frames.end());
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
}

}  // namespace

Result<ffmpeg::VideoIndex> VideoNode::index_of(media::Field& field, VideoWork& work) const {
  if (field.is_prepared) {
    const auto frames = ffmpeg::KeptFrames::open(field.bytes);
    auto index = frames ? ffmpeg::unpacked_video(frames->packed_index()) : std::nullopt;
    if (!index) return Error{Trouble::kInternal, "the cache has no frames of the video where it should have them"};
    return std::move(*index);
  }
  media::KeptIndex* const kept = field.index_of(index_id_);
  if (kept && !kept->bytes.empty())
    if (auto index = ffmpeg::unpacked_video(kept->bytes)) return std::move(*index);
  Result<ffmpeg::VideoIndex> index = work.decoder.index(field.content(), &field.wanted);
  if (index && kept && (kept->is_kept || field.parts)) kept->set(ffmpeg::packed(*index));
  return index;
}

Status VideoNode::check_read(media::Field& field, const VideoWork& work) {
  if (!field.parts) return Done{};
  std::vector<uint32_t> frames = work.clip.frames;
  sort_once(frames);
  const std::vector<ByteRange> ranges = ffmpeg::VideoStretches(*work.index, *field.parts).ranges_of(frames);
  // Also where they are there: another output may need a further round, which reads what is wanted and nothing else.
  field.wanted.insert(field.wanted.end(), ranges.begin(), ranges.end());
  const bool is_read =
      std::all_of(ranges.begin(), ranges.end(), [&](const auto& range) { return field.parts->has(range); });
  if (is_read) return Done{};
  return Error{Trouble::kUnread, "parts of the video have not been read"};
}

Status VideoNode::choose(const media::Call& call, VideoWork& work) const {
  begin(*call.field, work);
  if (work.indexed != call.field->number) {
    work.indexed.reset();
    work.asked.clear();
    work.held.clear();
    work.waiting = 0;
    Result<ffmpeg::VideoIndex> made = index_of(*call.field, work);
    if (!made) return made.error();
    work.index = std::move(*made);
    work.indexed = call.field->number;
  }
  const Result<media::TimePart> part = part_.part(call.workspace);
  if (!part) return part.error();
  return rule_.choose(*work.index, *part, call.draws, work.clip, call.part);
}

Status VideoNode::announce(const media::Call& call) const {
  auto& work = call.workspace.of<VideoWork>();
  if (const Status chosen = choose(call, work); !chosen) return chosen;
  ++work.waiting;
  work.asked.insert(work.asked.end(), work.clip.frames.begin(), work.clip.frames.end());
  return check_read(*call.field, work);
}

Status VideoNode::advise(const media::Value&, const media::Call& call) const {
  auto& work = call.workspace.of<VideoWork>();
  if (const Status chosen = choose(call, work); !chosen) return chosen;
  call.workspace.of<media::ToldNumbers>().tell(call.sample, output_, work.index->time_s(work.clip.frames.front()));
  return Done{};
}

Status VideoNode::run(media::Value&, const media::Call& call) const {
  auto& work = call.workspace.of<VideoWork>();
  work.scratch.set_work(&call.workspace.timer(), &call.workspace.guard());
  if (const Status chosen = choose(call, work); !chosen) return chosen;
  media::Field& field = *call.field;
  if (field.keeper && !field.is_prepared && !field.parts) DecodedForm::prepare(field, work);
  if (const Status rendered = render(call, work); !rendered) {
    if (rendered.error().trouble == Trouble::kUnread) call.field->wanted = {{0, call.field->content().size()}};
    return rendered;
  }
  if (work.waiting > 0 && --work.waiting == 0) work.held.clear();
  tell(*work.shown, call, work.geometry);
  tell_clip(call, work);
  return Done{};
}

Status VideoNode::decode(const media::Call& call, VideoWork& work, const ffmpeg::VideoSink& sink) {
  work.wanted = work.clip.frames;
  sort_once(work.wanted);
  if (call.field->is_prepared) return give_kept(call.field->bytes, work, sink);
  if (work.held.empty()) {
    sort_once(work.asked);
    const Size& picture = work.index->picture;
    const size_t frame_bytes = 3 * static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height);
    const bool is_shared = work.asked.size() > work.wanted.size() && work.asked.size() <= kHeldBytesMax / frame_bytes;
    if (!is_shared) return work.decoder.decode(*work.index, call.field->content(), work.wanted, sink);
    const Status decoded = work.decoder.decode(*work.index, call.field->content(), work.asked,
                                               [&](uint32_t number, ffmpeg::VideoFrame& frame) {
                                                 work.held.emplace(number, frame.hold());
                                                 return Status(Done{});
                                               });
    if (!decoded) return decoded;
  }
  for (const uint32_t number : work.wanted) {
    ffmpeg::VideoFrame frame = work.held.at(number).frame(work.memory);
    if (const Status taken = sink(number, frame); !taken) return taken;
  }
  return Done{};
}

Status VideoNode::give_kept(std::span<const uint8_t> form, VideoWork& work, const ffmpeg::VideoSink& sink) {
  const auto frames = ffmpeg::KeptFrames::open(form);
  if (!frames) return Error{Trouble::kInternal, "the cache has no frames of the video where it should have them"};
  for (const uint32_t number : work.wanted)
    if (const Status given = frames->give(number, work.memory, sink); !given) return given;
  return Done{};
}

// All frames of a video have the first one's shape of samples, which the index has if that frame can be decoded.
Status VideoNode::place(const media::Call& call, const ffmpeg::VideoFrame& frame, VideoWork& work) const {
  const ffmpeg::VideoIndex& index = *work.index;
  const ffmpeg::SampleAspect aspect = index.sample_aspect.is_told() ? index.sample_aspect : frame.sample_aspect();
  const int orientation = orientation_of(index.turn);
  const Size stored = image::oriented_size(index.picture, orientation);
  work.shown = has_square_pixels_ ? image::oriented_size(shown_size(index.picture, aspect), orientation) : stored;
  if (const Status resolved = resolve(*work.shown, call, work.geometry); !resolved) return resolved;
  if (const Status taken = take_scratch(call, work.geometry, work.scratch_memory); !taken) return taken;
  work.is_stretched = *work.shown != stored;
  if (!work.is_stretched) return Done{};
  work.of_stored = work.geometry;
  image::take_stored(*work.shown, stored, work.of_stored);
  return Done{};
}

Status VideoNode::render(const media::Call& call, VideoWork& work) const {
  uint8_t* const out = call.tensors.front().memory;
  const auto& frames = work.clip.frames;
  work.shown.reset();
  if (const Status taken = take_copies(work); !taken) return taken;
  return decode(call, work, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
    if (!work.shown)
      if (const Status placed = place(call, frame, work); !placed) return placed;
    if (const Status parted = part_fields(*work.index, number, frame); !parted) return parted;
    const size_t step = program().step_bytes(work.geometry);
    const size_t clip_bytes = clip_frames_ * program().tensor_bytes(work.geometry);
    const media::Lap lap(call.workspace.timer(), config::kResampleStep.name);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (frames[i] != number) continue;
      uint8_t* const at = out + i / clip_frames_ * clip_bytes + i % clip_frames_ * step;
      const Status rendered = render_frame(frame, work, at);
      if (!rendered) return rendered;
      image::renew_noise(work.rendered().adjustments);
    }
    return Status(Done{});
  });
}

Status VideoNode::part_fields(const ffmpeg::VideoIndex& index, uint32_t number, ffmpeg::VideoFrame& frame) const {
  if (interlaced_ == Interlaced::kKeep || !index.may_be_interlaced || !frame.is_interlaced()) return Done{};
  if (interlaced_ == Interlaced::kDeinterlace) return frame.deinterlace();
  return Error{Trouble::kContent, "frame " + std::to_string(number) +
                                      " of the video is interlaced, and interlaced = \"refuse\" takes no such frame"};
}

// Planes of 8 bits where the video has more, and lines between a field's own; or else rows, also turned ones.
Status VideoNode::take_copies(VideoWork& work) {
  constexpr uint64_t kPlanes = 3, kFields = 6, kRows = 3;
  const Size& picture = work.index->picture;
  const uint64_t pixels = static_cast<uint64_t>(picture.width) * static_cast<uint64_t>(picture.height);
  const uint64_t bytes = kPlanes + (work.index->may_be_interlaced ? kFields : 0) + (work.index->turn != 0 ? kRows : 0);
  return work.frame_memory.grow_to(ByteBuffer::room_for(pixels * bytes)) ? Status(Done{}) : media::no_room();
}

Status VideoNode::render_frame(ffmpeg::VideoFrame& frame, VideoWork& work, uint8_t* out) const {
  if (work.index->turn == 0 && image::ImageProgram::takes_planes(work.rendered())) {
    if (const auto planes = frame.planes()) {
      const PlanesColours colours = colours_of(planes->colours);
      program().render(view_of(*planes, colours), work.rendered(), work.scratch, out);
      return Done{};
    }
  }
  return render_rows(frame, work, out);
}

Status VideoNode::render_rows(ffmpeg::VideoFrame& frame, VideoWork& work, uint8_t* out) const {
  if (const Status made = frame.rgb(is_grey_, work.rows); !made) return made;
  if (work.index->turn == 0) {
    program().render(work.rows, work.rendered(), work.scratch, out);
    return Done{};
  }
  const int orientation = orientation_of(work.index->turn);
  const Size upright = image::oriented_size(work.rows.picture, orientation);
  image::orient_rows(work.rows, {0, 0, upright.width, upright.height}, orientation, work.turned);
  program().render(work.turned, work.rendered(), work.scratch, out);
  return Done{};
}

void VideoNode::tell_clip(const media::Call& call, const VideoWork& work) const {
  const ffmpeg::VideoIndex& index = *work.index;
  if (times_tensor_) {
    uint8_t* out = call.tensors[*times_tensor_].memory;
    for (const uint32_t frame : work.clip.frames) {
      const double time = index.time_s(frame) - index.time_s(0);
      std::memcpy(out, &time, sizeof time);
      out += sizeof time;
    }
  }
  if (valid_tensor_) {
    uint8_t* out = call.tensors[*valid_tensor_].memory;
    for (const size_t frames : work.clip.valid) {
      const auto valid = static_cast<int64_t>(frames);
      std::memcpy(out, &valid, sizeof valid);
      out += sizeof valid;
    }
  }
}

}  // namespace spdld::video
