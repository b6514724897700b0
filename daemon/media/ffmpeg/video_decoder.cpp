#include "daemon/media/ffmpeg/video_decoder.h"

#include <algorithm>
#include <string>

#include "daemon/media/ffmpeg/decoder_pool.h"
#include "daemon/media/ffmpeg/enumerations.h"
#include "daemon/media/ffmpeg/frame_pool.h"
#include "daemon/media/ffmpeg/video_stretches.h"

namespace spdld::ffmpeg {
namespace {

// Pixels that a decoder may make room for. The picture may be stored larger than it is shown, and a damaged header may
// claim far more than the container does.
int64_t pixels_max(const Size& picture) {
  constexpr int64_t kMost = 178'956'970, kSpare = 1 << 20;
  return std::min(kMost, 4 * int64_t{picture.width} * picture.height + kSpare);
}
// Frames that one clip may cost. A video of 18 minutes of 60 frames a second with one key frame is within it.
constexpr uint64_t kDecodedMax = 65'536;

Error damaged(uint32_t number, const VideoIndex& index) {
  return {Trouble::kContent, "frame " + std::to_string(number) + " of the video, at " +
                                 std::to_string(index.time_s(number)) + " s, can't be decoded: its data is damaged"};
}

}  // namespace

std::string video_code() {
  return version_text("libavformat", lib::avformat_version()) + ", " +
         version_text("libavcodec", lib::avcodec_version());
}

VideoDecoder::VideoDecoder(const media::DecodeLimits& limits)
    : limits_(limits),
      frames_(std::make_unique<FramePool>(limits.memory)),
      decoders_(std::make_unique<DecoderPool>()) {}
VideoDecoder::~VideoDecoder() = default;

void VideoDecoder::shrink(size_t bytes_max) {
  decoders_->shrink(bytes_max);
  frames_->shrink(bytes_max);
  memory_.shrink(bytes_max);
}

// One call of decode().
class VideoDecoder::Run {
 public:
  Run(VideoDecoder& decoder, const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
      const VideoSink& sink)
      : decoder_(decoder),
        index_(index),
        file_(file),
        stretches_(index, file),
        wanted_(wanted),
        sink_(sink),
        budget_(decoder.limits_) {}

  Status run() {
    uint32_t earlier = 0;  // so many starts earlier, since the last start did not give the frame
    while (given_ < wanted_.size()) {
      const size_t before = given_;
      const VideoStretches::Stretch stretch = stretches_.stretch_of(wanted_, given_, earlier);
      if (const Status run = run_through(stretch); !run) return run;
      if (given_ > before && !is_no_start_) {
        earlier = 0;
      } else if (stretch.first == 0) {
        return damaged(wanted_[given_], index_);
      } else {
        // A key frame that is none for this decoder.
        earlier = std::max(1u, 2 * earlier);
      }
    }
    return Done{};
  }

 private:
  Status run_through(const VideoStretches::Stretch& stretch) {
    if (const Status opened = open(); !opened) return opened;
    shown_ = 0;
    is_no_start_ = false;
    started_ = stretch.first > 0 ? index_.packets[stretch.first].frame : kNoFrame;
    auto sets = stretches_.sets_before(stretch.first);
    if (!sets) return lacking();
    sets_ = std::move(*sets);
    for (uint32_t i = stretch.first; i < stretch.end && given_ < wanted_.size() && !is_no_start_; ++i) {
      if (const Status sent = send(index_.packets[i]); !sent) return sent;
    }
    if (given_ == wanted_.size() || is_no_start_) return Done{};
    return finish();
  }

  // A new decoder for each stretch, so that a frame does not depend on the stretches before its own.
  Status open() {
    bool has_room = true;
    const auto prepare = [&](AVCodecContext& context) {
      context.has_b_frames = index_.reordered;
      context.max_pixels = pixels_max(index_.picture);
      has_room = decoder_.frames_->serve(context, index_.picture);
    };
    const Result<OpenedDecoder*> opened = decoder_.decoders_->decoder_for(*index_.parameters, "video", prepare);
    if (!has_room) return media::no_room();
    if (!opened) return opened.error();
    opened_ = *opened;
    return Done{};
  }

  bool is_wanted(uint32_t frame) const { return std::binary_search(wanted_.begin(), wanted_.end(), frame); }

  Status send(const VideoPacket& packet) {
    if (const Status within = check_limits(); !within) return within;
    AVCodecContext& context = *opened_->context;
    // Frames without times are counted as they come, so that each has to come.
    const bool may_be_left_out = !index_.is_untimed && !(packet.frame != kNoFrame && is_wanted(packet.frame));
    context.skip_frame = may_be_left_out ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
    std::span<const uint8_t> data = index_.data_of(packet, file_);
    if (data.empty()) return lacking();
    if (!sets_.empty()) {
      sets_.insert(sets_.end(), data.begin(), data.end());
      data = sets_;
    }
    ++decoder_.packets_sent_;
    // The decoder's times are the numbers of the frames, so that each is told from all others.
    const int64_t time = packet.frame == kNoFrame ? AV_NOPTS_VALUE : int64_t{packet.frame};
    const int fault = opened_->send(data, packet.is_key, time);
    sets_.clear();
    if (fault < 0 && fault != AVERROR(EAGAIN)) return damaged(wanted_[given_], index_);
    return receive();
  }

  Status finish() {
    const int fault = opened_->finish();
    if (fault < 0 && fault != AVERROR_EOF) return damaged(wanted_[given_], index_);
    return receive();
  }

  Status receive() {
    while (given_ < wanted_.size() && !is_no_start_) {
      AVFrame& frame = *opened_->frame;
      const int fault = lib::avcodec_receive_frame(opened_->context.get(), &frame);
      if (fault == AVERROR(EAGAIN) || fault == AVERROR_EOF) return Done{};
      if (fault < 0) return damaged(wanted_[given_], index_);
      check_enumerations(frame);
      const Status taken = take(frame);
      lib::av_frame_unref(&frame);
      if (!taken) return taken;
    }
    return Done{};
  }

  Status take(const AVFrame& frame) {
    int64_t number = frame.pts;
    if (index_.is_untimed) number = shown_++;
    // Some containers call every frame a key frame.
    const bool refers = frame.pict_type == AV_PICTURE_TYPE_P || frame.pict_type == AV_PICTURE_TYPE_B;
    is_no_start_ = refers && started_ != kNoFrame && number == int64_t{started_};
    if (is_no_start_) return Done{};
    if (number == AV_NOPTS_VALUE || number != int64_t{wanted_[given_]}) return Done{};
    if (frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT) return damaged(wanted_[given_], index_);
    VideoFrame video(frame, decoder_.memory_);
    return sink_(wanted_[given_++], video);
  }

  // An index that was kept may be of another file.
  Status lacking() const {
    if (file_.is_whole()) return damaged(wanted_[given_], index_);
    return Error{Trouble::kUnread, "a part of the video has not been read"};
  }

  Status check_limits() {
    if (++decoded_ > kDecodedMax)
      return Error{Trouble::kContent, "more than " + std::to_string(kDecodedMax) +
                                          " frames would have to be decoded for one clip: encode the video with more "
                                          "key frames"};
    return budget_.check();
  }

  VideoDecoder& decoder_;
  const VideoIndex& index_;
  const ByteParts& file_;
  const VideoStretches stretches_;
  const std::span<const uint32_t> wanted_;
  const VideoSink& sink_;
  OpenedDecoder* opened_ = nullptr;  // of the stretch
  std::vector<uint8_t> sets_;        // that stand in front of its first packet
  const media::CpuBudget budget_;
  size_t given_ = 0;             // of the wanted frames
  uint32_t started_ = kNoFrame;  // the frame at which the stretch starts, where others lie before it
  bool is_no_start_ = false;     // that frame refers to frames before it
  int64_t shown_ = 0;
  uint64_t decoded_ = 0;
};

Status VideoDecoder::decode(const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
                            const VideoSink& sink) {
  return Run(*this, index, file, wanted, sink).run();
}

}  // namespace spdld::ffmpeg
