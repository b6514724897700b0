#include "daemon/media/ffmpeg/video_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "daemon/media/ffmpeg/video_parameters.h"
#include "daemon/media/ffmpeg/video_stretches.h"

namespace spdld::ffmpeg {
namespace {

constexpr size_t kOpenedMax = 4;  // decoders that a thread keeps
// Pixels that a decoder may make room for. The picture may be stored larger than it is shown, and a damaged header may
// claim far more than the container does.
int64_t pixels_max(const Size& picture) {
  constexpr int64_t kMost = 178'956'970, kSpare = 1 << 20;
  return std::min(kMost, 4 * int64_t{picture.width} * picture.height + kSpare);
}
// Frames that one clip may cost. A video of 18 minutes of 60 frames a second with one key frame is within it.
constexpr uint64_t kDecodedMax = 65'536;

bool is_same(const AVCodecParameters& a, const AVCodecParameters& b) {
  return a.codec_id == b.codec_id && a.codec_tag == b.codec_tag && a.width == b.width && a.height == b.height &&
         a.format == b.format && a.field_order == b.field_order && a.extradata_size == b.extradata_size &&
         (a.extradata_size == 0 || std::memcmp(a.extradata, b.extradata, static_cast<size_t>(a.extradata_size)) == 0);
}

Error damaged(uint32_t number, const VideoIndex& index) {
  return {Trouble::kContent, "frame " + std::to_string(number) + " of the video, at " +
                                 std::to_string(index.time_s(number)) + " s, can't be decoded: its data is damaged"};
}

}  // namespace

std::string video_code() {
  return version_text("libavformat", lib::avformat_version()) + ", " +
         version_text("libavcodec", lib::avcodec_version());
}

struct VideoDecoder::Opened {
  CodecParameters parameters;
  int reordered = 0;
  CodecContext context;
  FrameHandle frame{allocated(lib::av_frame_alloc())};
  PacketHandle packet{allocated(lib::av_packet_alloc())};
  ByteBuffer padded;
  FrameMemory memory;
};

VideoDecoder::VideoDecoder(const media::DecodeLimits& limits) : limits_(limits) {}
VideoDecoder::~VideoDecoder() = default;

void VideoDecoder::shrink(size_t bytes_max) {
  for (const auto& opened : opened_) {
    opened->padded.shrink(bytes_max);
    opened->memory.shrink(bytes_max);
  }
}

Result<VideoDecoder::Opened*> VideoDecoder::opened_for(const VideoIndex& index) {
  const AVCodecParameters& wanted = *index.parameters->codec;
  const auto found = std::find_if(opened_.begin(), opened_.end(), [&](const auto& opened) {
    return is_same(*opened->parameters, wanted) && opened->reordered == index.reordered;
  });
  if (found != opened_.end()) {
    std::rotate(opened_.begin(), found, found + 1);
    // Frames that tell no aspect take the last one that the decoder met, which was another video's.
    opened_.front()->context->sample_aspect_ratio = wanted.sample_aspect_ratio;
    return opened_.front().get();
  }
  auto opened = std::make_unique<Opened>();
  opened->parameters.reset(allocated(lib::avcodec_parameters_alloc()));
  if (lib::avcodec_parameters_copy(opened->parameters.get(), &wanted) < 0) throw std::bad_alloc();
  opened->reordered = index.reordered;
  opened->context.reset(allocated(lib::avcodec_alloc_context3(index.parameters->decoder)));
  AVCodecContext& context = *opened->context;
  int fault = lib::avcodec_parameters_to_context(&context, &wanted);
  context.thread_count = 1;  // samples are decoded beside one another instead
  context.has_b_frames = index.reordered;
  context.max_pixels = pixels_max(index.picture);
  if (fault >= 0) fault = lib::avcodec_open2(&context, index.parameters->decoder, nullptr);
  if (fault < 0) return fault_of("the video's decoder does not take its header", fault);
  if (opened_.size() == kOpenedMax) opened_.pop_back();
  opened_.insert(opened_.begin(), std::move(opened));
  return opened_.front().get();
}

// One call of decode().
class VideoDecoder::Run {
 public:
  Run(const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted, const VideoSink& sink,
      Opened& opened, const media::DecodeLimits& limits, uint64_t& packets_sent)
      : index_(index),
        file_(file),
        stretches_(index, file),
        wanted_(wanted),
        sink_(sink),
        opened_(opened),
        budget_(limits),
        sent_(packets_sent) {}

  Status run() {
    uint32_t earlier = 0;  // so many starts earlier, since the last start did not give the frame
    while (given_ < wanted_.size()) {
      const size_t before = given_;
      const VideoStretches::Stretch stretch = stretches_.stretch_of(wanted_, given_, earlier);
      if (const Status run = run_through(stretch); !run) return run;
      if (given_ > before) {
        earlier = 0;
      } else if (stretch.first == 0) {
        return damaged(wanted_[given_], index_);
      } else {
        // A key frame that is none for this decoder.
        ++earlier;
      }
    }
    return Done{};
  }

 private:
  Status run_through(const VideoStretches::Stretch& stretch) {
    lib::avcodec_flush_buffers(opened_.context.get());
    shown_ = 0;
    for (uint32_t i = stretch.first; i < stretch.end && given_ < wanted_.size(); ++i) {
      if (const Status sent = send(index_.packets[i]); !sent) return sent;
    }
    if (given_ == wanted_.size()) return Done{};
    return finish();
  }

  bool is_wanted(uint32_t frame) const { return std::binary_search(wanted_.begin(), wanted_.end(), frame); }

  Status send(const VideoPacket& packet) {
    if (const Status within = check_limits(); !within) return within;
    AVCodecContext& context = *opened_.context;
    // Frames without times are counted as they come, so that each has to come.
    const bool may_be_left_out = !index_.is_untimed && !(packet.frame != kNoFrame && is_wanted(packet.frame));
    context.skip_frame = may_be_left_out ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
    const std::span<const uint8_t> data = index_.data_of(packet, file_);
    if (data.empty()) return lacking();
    AVPacket& sent = *opened_.packet;
    hold_data(data, opened_.padded, sent);
    sent.flags = packet.is_key ? AV_PKT_FLAG_KEY : 0;
    // The decoder's times are the numbers of the frames, so that each is told from all others.
    sent.pts = packet.frame == kNoFrame ? AV_NOPTS_VALUE : int64_t{packet.frame};
    sent.dts = AV_NOPTS_VALUE;
    ++sent_;
    const int fault = lib::avcodec_send_packet(&context, &sent);
    sent.data = nullptr, sent.size = 0;
    if (fault < 0 && fault != AVERROR(EAGAIN)) return damaged(wanted_[given_], index_);
    return receive();
  }

  Status finish() {
    const int fault = lib::avcodec_send_packet(opened_.context.get(), nullptr);
    if (fault < 0 && fault != AVERROR_EOF) return damaged(wanted_[given_], index_);
    return receive();
  }

  Status receive() {
    while (given_ < wanted_.size()) {
      AVFrame& frame = *opened_.frame;
      const int fault = lib::avcodec_receive_frame(opened_.context.get(), &frame);
      if (fault == AVERROR(EAGAIN) || fault == AVERROR_EOF) return Done{};
      if (fault < 0) return damaged(wanted_[given_], index_);
      const Status taken = take(frame);
      lib::av_frame_unref(&frame);
      if (!taken) return taken;
    }
    return Done{};
  }

  Status take(const AVFrame& frame) {
    int64_t number = frame.pts;
    if (index_.is_untimed) number = shown_++;
    if (number == AV_NOPTS_VALUE || number != int64_t{wanted_[given_]}) return Done{};
    if (frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT) return damaged(wanted_[given_], index_);
    VideoFrame video(frame, opened_.memory);
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

  const VideoIndex& index_;
  const ByteParts& file_;
  const VideoStretches stretches_;
  const std::span<const uint32_t> wanted_;
  const VideoSink& sink_;
  Opened& opened_;
  const media::CpuBudget budget_;
  uint64_t& sent_;
  size_t given_ = 0;  // of the wanted frames
  int64_t shown_ = 0;
  uint64_t decoded_ = 0;
};

Status VideoDecoder::decode(const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
                            const VideoSink& sink) {
  const Result<Opened*> opened = opened_for(index);
  if (!opened) return opened.error();
  return Run(index, file, wanted, sink, **opened, limits_, packets_sent_).run();
}

}  // namespace spdld::ffmpeg
