// The frames of a video: when each is shown, which packet holds it, and from which packet on a decoder has to start for
// it, found by demuxing alone; and what the first of them is like, since containers tell sizes that are not the coded
// ones. Frames are numbered in the order in which they are shown, from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/decode_limits.h"
#include "daemon/media/ffmpeg/packets/stream_changes.h"

namespace spdld::ffmpeg {

inline constexpr uint64_t kPacketsMax = 2'000'000;  // of a video: 18 hours of 30 frames a second

struct DecoderParameters;  // of the codec; they stay within this room

inline constexpr int kUnknownPixels = -1;

// A packet that holds no frame which is ever shown.
inline constexpr uint32_t kNoFrame = UINT32_MAX;

struct VideoPacket {
  uint64_t offset = 0;  // in the file, or in VideoIndex::copied where `is_copied`
  int64_t time = 0;     // at which its frame is shown, in VideoIndex::tick_s
  uint32_t bytes = 0;
  uint32_t frame = kNoFrame;
  bool is_key = false;        // decoding may start at it, as the container says
  bool is_copied = false;     // the container does not hold it in one piece
  bool is_discarded = false;  // an edit list leaves its frame out
};

struct VideoFrameTime {
  int64_t time = 0;      // at which it is shown, in VideoIndex::tick_s
  int64_t duration = 0;  // until the next frame is shown
  uint32_t packet = 0;
};

// The width of a sample beside its height.
struct SampleAspect {
  int across = 0, down = 0;  // one of them below 1: nothing is told of it
  bool is_told() const { return across > 0 && down > 0; }
};

struct VideoIndex {
  VideoIndex();
  ~VideoIndex();
  VideoIndex(VideoIndex&&) noexcept;
  VideoIndex& operator=(VideoIndex&&) noexcept;

  std::unique_ptr<DecoderParameters> parameters;
  double tick_s = 0;                   // of times
  std::vector<VideoPacket> packets;    // in the order of decoding
  std::vector<VideoFrameTime> frames;  // in the order of showing; at least one
  std::vector<uint8_t> copied;
  int reordered = 0;  // the most frames that are decoded before a frame and shown after it
  // Of the first frame that is shown, as it is coded; every other frame is converted to it. Where no frame can be
  // decoded, or nothing has been, it is what the container tells.
  Size picture;
  int pixels = kUnknownPixels;  // FFmpeg's number of the first frame's format; every other frame is converted to it
  SampleAspect sample_aspect;   // as the container tells it, or else the first frame
  int turn = 0;                 // degrees by which players turn it clockwise: 0, 90, 180 or 270
  // The container does not say when frames are shown: they are numbered as the decoder gives them, from the first one.
  bool is_untimed = false;
  bool may_be_interlaced = true;  // else a frame's flag that says so is not meant
  // The first packet has parameter sets (parameter_sets.h), so that the header does not speak for all pictures.
  bool has_sets = false;
  StreamChanges changes;

  double time_s(size_t frame) const { return static_cast<double>(frames[frame].time) * tick_s; }
  // From the first frame's time to the end of the last frame.
  double duration_s() const;
  // The packet at which a decoder starts for this frame: the last key frame that is neither decoded nor shown behind
  // it. Frames that are decoded behind a key frame and shown before it may refer to what lies before the key frame.
  uint32_t start_of(size_t frame) const;
  // Empty: the file's parts lack it.
  std::span<const uint8_t> data_of(const VideoPacket& packet, const ByteParts& file) const;
};

// An index of what demuxing tells, without what the first frame tells: VideoDecoder::index() makes a whole one. `file`
// is borrowed for the call; packets are found again in it by their offsets. kContent: it holds no video, none of a
// codec that can be decoded, damage in its structure, or more work than the limits allow.
//
// kUnread, where the file is there in parts: `unread` then has all parts with which the call is to be repeated. A file
// whose container tells of all frames in one place (MP4, MOV) is asked for that place alone, and any other file for all
// of it.
Result<VideoIndex> index_packets(const ByteParts& file, const media::DecodeLimits& limits = {},
                                 std::vector<ByteRange>* unread = nullptr);

}  // namespace spdld::ffmpeg
