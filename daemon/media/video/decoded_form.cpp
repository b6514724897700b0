#include "daemon/media/video/decoded_form.h"

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/pictures/kept_frames.h"
#include "daemon/media/video/video_node.h"

namespace spdld::video {

DecodedForm::DecodedForm() : id_("decoded 2, frames of video, " + ffmpeg::kept_video_id()) {}

std::optional<uint64_t> DecodedForm::prepared_bytes(std::span<const uint8_t> content,
                                                    media::Workspace& workspace) const {
  auto& work = workspace.of<VideoWork>();
  const auto index = work.decoder.index(content);
  if (!index) return std::nullopt;
  uint64_t bytes = 0;
  const uint32_t first[] = {0};
  const Status decoded = work.decoder.decode(*index, content, first, [&](uint32_t, ffmpeg::VideoFrame& frame) {
    bytes = ffmpeg::kept_frames_bytes(*index, ffmpeg::packed(*index), frame).value_or(0);
    return Status(Done{});
  });
  return decoded ? std::optional(bytes) : std::nullopt;
}

namespace {

// Makes the form while the frames are decoded.
class FormMaker {
 public:
  FormMaker(const ffmpeg::VideoIndex& index, media::Keeper& keeper)
      : index_(index), packed_(ffmpeg::packed(index)), keeper_(keeper) {}

  Status put(uint32_t number, ffmpeg::VideoFrame& frame) {
    if (!writer_) {
      const auto bytes = ffmpeg::kept_frames_bytes(index_, packed_, frame);
      if (!bytes) return Error{Trouble::kContent, "the video has no form that could be kept"};
      uint8_t* const memory = keeper_.reserve(*bytes);
      if (memory == nullptr) return Error{Trouble::kLimit, "there is no room for the video's frames"};
      form_ = {memory, *bytes};
      writer_.emplace(index_, packed_, frame, memory);
    }
    if (writer_->put(number, frame)) return Done{};
    return Error{Trouble::kContent, "the video's frames differ in format"};
  }
  std::span<const uint8_t> form() const { return form_; }

 private:
  const ffmpeg::VideoIndex& index_;
  const std::string packed_;
  media::Keeper& keeper_;
  std::optional<ffmpeg::KeptFramesWriter> writer_;
  std::span<const uint8_t> form_;
};

}  // namespace

void DecodedForm::prepare(media::Field& field, VideoWork& work) {
  FormMaker maker(*work.index, *field.keeper);
  std::vector<uint32_t> all(work.index->frames.size());
  std::iota(all.begin(), all.end(), 0U);
  const Status decoded =
      work.decoder.decode(*work.index, field.bytes, all,
                          [&](uint32_t number, ffmpeg::VideoFrame& frame) { return maker.put(number, frame); });
  if (work.limits.memory != nullptr && work.limits.memory->lacks_room()) return;  // all of it begins anew
  if (!decoded) {
    // A decoding that was cut off says nothing of the video.
    const bool was_cut_off = work.limits.guard != nullptr && !work.limits.guard->goes_on();
    if (!was_cut_off && decoded.error().trouble != Trouble::kLimit) field.keeper->keep_as_fetched(field.bytes);
    return;
  }
  field.keeper->keep(maker.form().data(), maker.form().size());
  field.bytes = maker.form();
  field.is_prepared = true;
}

}  // namespace spdld::video
