// decode-video and all operations on the pictures that follow it, fused into one node. The frames of a clip are decoded
// one after another; of each, the part that is needed is resampled from its planes straight into the sample's part of
// the tensor, all with one geometry. Outputs of one video share its decoding: the first of them decodes what all of
// them have announced, and holds it for the others.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/image/programs/image_program.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/video/clip_rule.h"
#include "daemon/media/video/decoded_form.h"

namespace spdld::video {

// The objects that a decode thread keeps for videos.
struct VideoWork {
  explicit VideoWork(const media::DecodeLimits& its_limits)
      : limits(its_limits), decoder(its_limits), frame_memory(its_limits.memory), scratch_memory(its_limits.memory) {}
  void shrink(size_t bytes_max);

  const media::DecodeLimits limits;
  ffmpeg::VideoDecoder decoder;
  std::optional<ffmpeg::VideoIndex> index;
  std::optional<size_t> indexed;  // the field that it is of
  Clip clip;
  std::vector<uint32_t> wanted;  // frames of the clip, each once, in order
  // Of all outputs of the field that have announced their clips: their frames, each once and in order from the first
  // run on, and these decoded, where several outputs share them.
  std::vector<uint32_t> asked;
  std::map<uint32_t, ffmpeg::HeldFrame> held;
  size_t waiting = 0;          // outputs that have announced their clip, and have not run yet
  ffmpeg::FrameMemory memory;  // of frames that are held
  PixelRows rows, turned;
  // Resolved by the clip's first frame, for the upright picture as it is shown.
  std::optional<Size> shown;
  image::Geometry geometry;
  // The geometry that starts from the samples as they are stored, where these are not square.
  image::Geometry of_stored;
  bool is_stretched = false;
  image::Scratch scratch;
  media::MemoryPart frame_memory, scratch_memory;  // of copies of one frame, and of operations

  image::Geometry& rendered() { return is_stretched ? of_stored : geometry; }
};

class VideoNode final : public image::ProgramNode {
 public:
  explicit VideoNode(const media::PlacedOperation& placed);

  Status announce(const media::Call& call) const override;
  // Tells when the clip begins.
  Status advise(const media::Value& value, const media::Call& call) const override;
  Status run(media::Value& value, const media::Call& call) const override;
  std::vector<std::string> code() const override;
  const media::Representation* representation(config::CacheForm form) const override {
    return form == config::CacheForm::kDecoded ? &form_ : nullptr;
  }
  std::string_view why_unprepared() const override { return "videos are kept decoded where a pipeline asks for it"; }
  std::string_view index_id() const override { return index_id_; }

 private:
  enum class Interlaced : uint8_t { kDeinterlace, kKeep, kRefuse };

  // The index of the field's video, which is kept or made by the first of the outputs that ask, and the output's clip.
  Status choose(const media::Call& call, VideoWork& work) const;
  Result<ffmpeg::VideoIndex> index_of(media::Field& field, VideoWork& work) const;
  // kUnread: the clip's frames lie in parts of the video that have not been read.
  static Status check_read(media::Field& field, const VideoWork& work);
  // Gives the clip's frames to `sink`, each once and in order.
  static Status decode(const media::Call& call, VideoWork& work, const ffmpeg::VideoSink& sink);
  static Status give_kept(std::span<const uint8_t> form, VideoWork& work, const ffmpeg::VideoSink& sink);
  // Resolves the geometry for frames like this one.
  Status place(const media::Call& call, const ffmpeg::VideoFrame& frame, VideoWork& work) const;
  Status render(const media::Call& call, VideoWork& work) const;
  // Brings a frame whose lines are two fields into one of the first field's lines, or refuses it.
  Status part_fields(const ffmpeg::VideoIndex& index, uint32_t number, ffmpeg::VideoFrame& frame) const;
  // Before a frame is worked on: for its copies.
  static Status take_copies(VideoWork& work);
  Status render_frame(ffmpeg::VideoFrame& frame, VideoWork& work, uint8_t* out) const;
  Status render_rows(ffmpeg::VideoFrame& frame, VideoWork& work, uint8_t* out) const;
  void tell_clip(const media::Call& call, const VideoWork& work) const;

  std::string output_, index_id_;
  DecodedForm form_;
  ClipRule rule_;
  media::TimePartNames part_;
  size_t clip_frames_;
  bool is_grey_, has_square_pixels_;
  Interlaced interlaced_;
  std::optional<size_t> times_tensor_, valid_tensor_;
};

}  // namespace spdld::video
