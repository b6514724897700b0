#include "daemon/media/ffmpeg/pictures/video_decoder.h"

#include <algorithm>
#include <string>

#include "daemon/media/ffmpeg/pictures/frame_converter.h"
#include "daemon/media/ffmpeg/pictures/stretch_decoder.h"
#include "daemon/media/ffmpeg/pictures/undecodable.h"
#include "daemon/media/sample_memory.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kSideMax = 1 << 15;

}  // namespace

std::string video_code() {
  return version_text("libavformat", lib::avformat_version()) + ", " +
         version_text("libavcodec", lib::avcodec_version());
}

VideoDecoder::VideoDecoder(const media::DecodeLimits& limits)
    : limits_(limits),
      frames_(std::make_unique<FramePool>(limits.memory)),
      converter_(std::make_unique<FrameConverter>(limits.memory)),
      decoders_(std::make_unique<DecoderPool>()) {}
VideoDecoder::~VideoDecoder() = default;

void VideoDecoder::shrink(size_t bytes_max) {
  decoders_->shrink(bytes_max);
  frames_->shrink(bytes_max);
  converter_->shrink(bytes_max);
  memory_.shrink(bytes_max);
}

// One call of decode().
class VideoDecoder::Decoding {
 public:
  Decoding(VideoDecoder& decoder, const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
           const VideoSink& sink)
      : decoder_(decoder),
        index_(index),
        look_{index.picture, static_cast<AVPixelFormat>(index.pixels)},
        feeder_({*decoder.decoders_, *decoder.frames_, decoder.limits_}, index, file),
        wanted_(wanted),
        sink_(sink) {}
  ~Decoding() { decoder_.packets_sent_ += feeder_.packets_sent(); }

  Status run() {
    // Frames without times are counted as they come, so that each has to come.
    const StretchDecoder::Sink sink = {
        .take = [this](const AVFrame& frame) { return take(frame); },
        .is_wanted = [this](const VideoPacket& packet) { return index_.is_untimed || is_wanted(packet.frame); },
        .number = [this] { return wanted_[given_]; }};
    uint32_t earlier = 0;   // so many starts earlier, since the last start did not give the frame
    bool is_alone = false;  // the stretch ends behind the frame
    while (given_ < wanted_.size()) {
      const size_t before = given_;
      begin(feeder_.stretches().stretch_of(is_alone ? wanted_.first(given_ + 1) : wanted_, given_, earlier));
      may_end_early_ = earlier == 0 && !index_.is_untimed;
      if (const Status run = feeder_.run(stretch_, sink); !run) return run;
      if (given_ > before && !is_no_start_) {
        earlier = 0;
        is_alone = false;
      } else if (!is_alone && !is_no_start_ && !index_.is_untimed) {
        // Where a stream changes, some decoders forget the frames that they hold.
        is_alone = true;
      } else if (stretch_.first == 0) {
        if (index_.is_untimed && shown_ > 0 && !is_no_start_) return missing();
        return missing_frame(index_, wanted_[given_]);
      } else {
        // A key frame that is none for this decoder.
        earlier = std::max(1u, 2 * earlier);
      }
    }
    return Done{};
  }

 private:
  void begin(const VideoStretches::Stretch& stretch) {
    stretch_ = stretch;
    shown_ = 0;
    is_no_start_ = false;
    started_ = stretch.first > 0 ? index_.packets[stretch.first].frame : kNoFrame;
    own_look_.reset();
  }

  bool is_wanted(uint32_t frame) const {
    return frame != kNoFrame && std::binary_search(wanted_.begin(), wanted_.end(), frame);
  }

  Result<bool> take(const AVFrame& frame) {
    int64_t number = frame.pts;
    if (index_.is_untimed) number = shown_++;
    // Some containers call every frame a key frame.
    const bool refers = frame.pict_type == AV_PICTURE_TYPE_P || frame.pict_type == AV_PICTURE_TYPE_B;
    is_no_start_ = refers && started_ != kNoFrame && number == int64_t{started_};
    if (is_no_start_) return false;
    const FrameLook own{{frame.width, frame.height}, static_cast<AVPixelFormat>(frame.format)};
    if (!own_look_) own_look_ = own;
    if (number == AV_NOPTS_VALUE || number != int64_t{wanted_[given_]}) return true;
    if (own != *own_look_ && may_begin_anew(wanted_[given_])) return false;
    if (frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT)
      return damaged_frame(index_, wanted_[given_]);
    const bool has_fields = index_.may_be_interlaced && VideoFrame(frame, decoder_.memory_).is_interlaced();
    const auto converted = decoder_.converter_->converted(frame, look_, has_fields);
    if (!converted) return converted.error();
    VideoFrame video(**converted, decoder_.memory_);
    if (const Status taken = sink_(wanted_[given_++], video); !taken) return taken.error();
    return given_ < wanted_.size();
  }

  // Frames without times can't be told from one another, so that it is not known where some were lost.
  Error missing() const {
    return {Trouble::kContent, "frame " + std::to_string(wanted_[given_]) +
                                   " of the video can't be decoded: FFmpeg gives " + std::to_string(shown_) +
                                   " frames for the " + std::to_string(index_.frames.size()) +
                                   " of its container, which does not say when they are shown"};
  }

  // A decoder keeps something of the pictures before a change, so that frames behind it get a decoder of their own.
  bool may_begin_anew(uint32_t frame) const {
    return may_end_early_ && feeder_.stretches().start_of(frame) > stretch_.first;
  }

  VideoDecoder& decoder_;
  const VideoIndex& index_;
  const FrameLook look_;
  StretchDecoder feeder_;
  const std::span<const uint32_t> wanted_;
  const VideoSink& sink_;
  VideoStretches::Stretch stretch_;
  bool may_end_early_ = true;          // where the stream changes
  std::optional<FrameLook> own_look_;  // of the stretch's first frame
  size_t given_ = 0;                   // of the wanted frames
  uint32_t started_ = kNoFrame;        // the frame at which the stretch starts, where others lie before it
  bool is_no_start_ = false;           // that frame refers to frames before it
  int64_t shown_ = 0;
};

// Finds out what the first frame that is shown is like.
class VideoDecoder::Look {
 public:
  Look(VideoDecoder& decoder, VideoIndex& index, const ByteParts& file)
      : decoder_(decoder),
        index_(index),
        file_(file),
        feeder_({*decoder.decoders_, *decoder.frames_, decoder.limits_}, index, file) {}

  // kUnread: packets are missing that unread() tells of.
  Status run() {
    if (index_.data_of(index_.packets.front(), file_).empty() && !file_.is_whole())
      return Error{Trouble::kUnread, "the video's first packet has not been read"};
    index_.has_sets = feeder_.stretches().has_sets(0);
    Status looked = look({feeder_.stretches().stretch_of(kFirst, 0, 0)});
    // It may be damaged, or refer to frames before the file's beginning: then the first one that a decoder gives.
    if (!found_ && is_content(looked)) {
      is_wide_ = true;
      looked = look({0, static_cast<uint32_t>(index_.packets.size())});
    }
    if (!is_content(looked)) return looked;
    // Nothing that depends on the machine's speed is told.
    if (!found_) return feeder_.budget().check();
    index_.picture = found_->picture;
    index_.pixels = found_->pixels;
    if (!index_.sample_aspect.is_told()) index_.sample_aspect = aspect_;
    // A decoder of Motion JPEG takes a first picture of less than three quarters of the height for one of two fields.
    AVCodecParameters& codec = *index_.parameters->codec;
    if (codec.codec_id == AV_CODEC_ID_MJPEG && !has_fields_) codec.width = codec.height = 0;
    return Done{};
  }

  void add_unread(std::vector<ByteRange>& unread) const {
    unread.assign(file_.ranges().begin(), file_.ranges().end());
    if (is_wide_) {
      unread.push_back({0, file_.size()});
    } else {
      const VideoPacket& first = index_.packets.front();
      if (!first.is_copied) unread.push_back({first.offset, first.bytes});
      for (const ByteRange& range : feeder_.stretches().ranges_of(kFirst)) unread.push_back(range);
    }
    join_ranges(unread, 0);
  }

 private:
  static constexpr uint32_t kFirst[] = {0};

  // Whether it says something of the video, and not of what there is to look at it.
  bool is_content(const Status& looked) const {
    const media::SampleMemory* const memory = decoder_.limits_.memory;
    if (memory != nullptr && memory->lacks_room()) return false;
    return looked || looked.error().trouble == Trouble::kContent;
  }

  Status look(const VideoStretches::Stretch& stretch) {
    const auto take = [this](const AVFrame& frame) -> Result<bool> {
      if (frame.pts == AV_NOPTS_VALUE && !index_.is_untimed) return true;
      found_ = FrameLook{{frame.width, frame.height}, static_cast<AVPixelFormat>(frame.format)};
      aspect_ = {frame.sample_aspect_ratio.num, frame.sample_aspect_ratio.den};
      has_fields_ = VideoFrame(frame, decoder_.memory_).is_interlaced();
      return false;
    };
    const StretchDecoder::Sink sink = {.take = take,
                                       .is_wanted = [](const VideoPacket& packet) { return packet.frame != kNoFrame; },
                                       .number = [] { return kFirst[0]; }};
    return feeder_.run(stretch, sink, StretchDecoder::Aim::kLooks);
  }

  VideoDecoder& decoder_;
  VideoIndex& index_;
  const ByteParts& file_;
  StretchDecoder feeder_;
  bool is_wide_ = false;  // all of the file is looked at
  std::optional<FrameLook> found_;
  SampleAspect aspect_;
  bool has_fields_ = false;
};

Result<VideoIndex> VideoDecoder::index(const ByteParts& file, std::vector<ByteRange>* unread) {
  Result<VideoIndex> index = index_packets(file, limits_, unread);
  if (!index) return index;
  Look look(*this, *index, file);
  if (const Status looked = look.run(); !looked) {
    if (looked.error().trouble == Trouble::kUnread && unread != nullptr) look.add_unread(*unread);
    return looked.error();
  }
  const auto& [width, height] = index->picture;
  if (width <= 0 || height <= 0)
    return Error{Trouble::kContent,
                 "no frame of the video can be decoded, and its container tells no size that can be meant"};
  if (width > kSideMax || height > kSideMax)
    return Error{Trouble::kContent, "the video's frames have " + std::to_string(width) + " x " +
                                        std::to_string(height) + " pixels: at most " + std::to_string(kSideMax) +
                                        " on a side are read"};
  return index;
}

Status VideoDecoder::decode(const VideoIndex& index, const ByteParts& file, std::span<const uint32_t> wanted,
                            const VideoSink& sink) {
  return Decoding(*this, index, file, wanted, sink).run();
}

Result<VideoIndex> index_video(const ByteParts& file, const media::DecodeLimits& limits,
                               std::vector<ByteRange>* unread) {
  return VideoDecoder(limits).index(file, unread);
}

}  // namespace spdld::ffmpeg
