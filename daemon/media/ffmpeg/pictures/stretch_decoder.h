// Feeds a decoder that is as new with a stretch of a video's packets. For this room alone; one thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "daemon/media/cpu_budget.h"
#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/frame_pool.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"

namespace spdld::ffmpeg {

class StretchDecoder {
 public:
  struct Uses {
    DecoderPool& decoders;
    FramePool& frames;
    const media::DecodeLimits& limits;
  };
  // All are borrowed.
  StretchDecoder(const Uses& uses, const VideoIndex& index, const ByteParts& file)
      : uses_(uses), index_(index), file_(file), stretches_(index, file), budget_(uses.limits) {}

  struct Sink {
    // Takes a frame, whose time is its number in the index, or AV_NOPTS_VALUE. False: no further ones are wanted.
    std::function<Result<bool>(const AVFrame& frame)> take;
    // Whether a frame that nothing refers to is to be decoded.
    std::function<bool(const VideoPacket& packet)> is_wanted;
    // Of the frame that is waited for, in errors.
    std::function<uint32_t()> number;
  };
  // kLooks: frames' pixels do not count, which saves time, and packets that the decoder does not take are left out.
  enum class Aim : uint8_t { kPixels, kLooks };
  // kContent: damage, or more work than the limits allow. kUnread: the file's parts lack a packet.
  Status run(const VideoStretches::Stretch& stretch, const Sink& sink, Aim aim = Aim::kPixels);

  const VideoStretches& stretches() const { return stretches_; }
  const media::CpuBudget& budget() const { return budget_; }
  // That decoders were given since the object was made.
  uint64_t packets_sent() const { return packets_sent_; }

 private:
  Status open(uint32_t packet, Aim aim);
  Result<bool> send(uint32_t number, bool is_first, const Sink& sink, Aim aim);
  Result<bool> receive(const Sink& sink);
  Status check_limits();
  Status lacking(const Sink& sink) const;

  const Uses uses_;
  const VideoIndex& index_;
  const ByteParts& file_;
  const VideoStretches stretches_;
  const media::CpuBudget budget_;
  std::unique_ptr<DecoderParameters> changed_;  // where a packet brought another header
  OpenedDecoder* opened_ = nullptr;             // of the stretch
  std::vector<uint8_t> sets_;                   // that stand in front of its first packet
  uint64_t decoded_ = 0, packets_sent_ = 0;
};

}  // namespace spdld::ffmpeg
