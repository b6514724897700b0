#include "daemon/media/ffmpeg/pictures/undecodable.h"

#include <string>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"

namespace spdld::ffmpeg {
namespace {

Error with_reason(const VideoIndex& index, uint32_t number, const std::string& reason) {
  return {Trouble::kContent, "frame " + std::to_string(number) + " of the video, at " +
                                 std::to_string(index.time_s(number)) + " s, can't be decoded: " + reason};
}

}  // namespace

Error refused_frame(const VideoIndex& index, uint32_t number, int fault) {
  if (!is_missing_feature(fault)) return damaged_frame(index, number);
  return with_reason(index, number,
                     "it uses a feature of " + name_of_codec(index.parameters->codec->codec_id) +
                         " that the FFmpeg that spdld runs with does not decode");
}

Error damaged_frame(const VideoIndex& index, uint32_t number) {
  return with_reason(index, number, "its data is damaged");
}

Error missing_frame(const VideoIndex& index, uint32_t number) {
  return with_reason(
      index, number,
      "FFmpeg's decoder gives no picture for it, as where it refers to frames that the file does not have");
}

}  // namespace spdld::ffmpeg
