#include "daemon/media/video/decoded_form.h"

#include <numeric>
#include <vector>

#include "daemon/media/ffmpeg/kept_frames.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/video/video_node.h"

namespace spdld::video {

DecodedForm::DecodedForm() : id_("decoded 1, frames of video, " + ffmpeg::kept_video_id()) {}

std::optional<uint64_t> DecodedForm::prepared_bytes(std::span<const uint8_t> content,
                                                    media::Workspace& workspace) const {
  const auto index = ffmpeg::index_video(content, workspace.of<VideoWork>().limits);
  if (!index) return std::nullopt;
  return ffmpeg::kept_frames_bytes(*index, ffmpeg::packed(*index)).value_or(0);
}

void DecodedForm::prepare(media::Field& field, VideoWork& work) {
  const std::string packed = ffmpeg::packed(*work.index);
  const auto bytes = ffmpeg::kept_frames_bytes(*work.index, packed);
  if (!bytes) return field.keeper->keep_as_fetched(field.bytes);
  uint8_t* const memory = field.keeper->reserve(*bytes);
  if (memory == nullptr) return;
  ffmpeg::KeptFramesWriter writer(*work.index, packed, memory);
  std::vector<uint32_t> all(work.index->frames.size());
  std::iota(all.begin(), all.end(), 0U);
  const Status decoded =
      work.decoder.decode(*work.index, field.bytes, all, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
        return writer.put(number, frame) ? Status(Done{}) : Status(Error{Trouble::kContent, "the frames differ"});
      });
  if (!decoded) return field.keeper->keep_as_fetched(field.bytes);
  field.keeper->keep(memory, *bytes);
  field.bytes = {memory, *bytes};
  field.is_prepared = true;
}

}  // namespace spdld::video
