// Decodes chosen frames of a video, and as little beside them as is possible: it starts at the key frame before them,
// leaves out frames that nothing refers to, and ends behind the last frame. A frame's pixels are the same whatever else
// is wanted, and wherever the decoder starts. All frames have the size and the pixels of the first one: where a stream
// changes these on the way, its frames are converted (frame_converter.h). One object a decode thread; the memory of its
// frames is kept from video to video, and no decoder (decoder_pool.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/ffmpeg/pictures/video_frame.h"
#include "daemon/media/ffmpeg/pictures/video_index.h"

namespace spdld::ffmpeg {

// Takes a frame, by its number in the index; it is valid during the call. An error ends the decoding.
using VideoSink = std::function<Status(uint32_t number, VideoFrame& frame)>;

// The code that decides a frame's pixels, with its versions as the libraries tell them: "libavcodec 59.37.100".
std::string video_code();

class DecoderPool;
class FrameConverter;
class FramePool;

class VideoDecoder {
 public:
  explicit VideoDecoder(const media::DecodeLimits& limits);
  ~VideoDecoder();
  VideoDecoder(const VideoDecoder&) = delete;
  VideoDecoder& operator=(const VideoDecoder&) = delete;

  // An index of the video, with what its first frame tells. `file`, errors and `unread`: see index_packets(). kContent
  // also: the video claims a size beyond all bounds.
  Result<VideoIndex> index(const ByteParts& file, std::vector<ByteRange>* unread = nullptr);

  // `wanted` rises, and has numbers of frames of `index`, which was made of `file`. kContent: damage in what has to be
  // decoded, or more work than the limits allow. kUnread: damage makes more of the file necessary than VideoStretches
  // tells.
  Status decode(const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
                const VideoSink& sink);

  // Packets that decoders were given for decode() since the object was made, also where they left the frame out.
  uint64_t packets_sent() const { return packets_sent_; }
  // Keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  class Decoding;
  class Look;

  const media::DecodeLimits limits_;
  const std::unique_ptr<FramePool> frames_;
  const std::unique_ptr<FrameConverter> converter_;
  const std::unique_ptr<DecoderPool> decoders_;
  FrameMemory memory_;
  uint64_t packets_sent_ = 0;
};

// The index of one video, made by a VideoDecoder of its own.
Result<VideoIndex> index_video(const ByteParts& file, const media::DecodeLimits& limits = {},
                               std::vector<ByteRange>* unread = nullptr);

}  // namespace spdld::ffmpeg
