#include "daemon/media/ffmpeg/pictures/stretch_decoder.h"

#include <algorithm>
#include <string>

#include "daemon/media/ffmpeg/libraries/enumerations.h"
#include "daemon/media/ffmpeg/pictures/undecodable.h"
#include "daemon/media/sample_memory.h"

namespace spdld::ffmpeg {
namespace {

// Pixels that a decoder may make room for. The picture may be stored larger than it is shown, a stream may change its
// size, and its container may tell another one; a damaged header may claim far more.
int64_t pixels_max(const Size& picture) {
  constexpr int64_t kMost = 178'956'970, kLarge = int64_t{8192} * 4352;
  return std::clamp(4 * int64_t{picture.width} * picture.height, kLarge, kMost);
}
// Frames that one clip may cost. A video of 18 minutes of 60 frames a second with one key frame is within it.
constexpr uint64_t kDecodedMax = 65'536;

}  // namespace

Status StretchDecoder::run(const VideoStretches::Stretch& stretch, const Sink& sink, Aim aim) {
  auto sets = stretches_.sets_before(stretch.first);
  if (!sets) return lacking(sink);
  sets_ = std::move(*sets);
  if (const Status opened = open(stretch.first, aim); !opened) return opened;
  for (uint32_t i = stretch.first; i < stretch.end; ++i) {
    const Result<bool> goes_on = send(i, i == stretch.first, sink, aim);
    if (!goes_on) return goes_on.error();
    if (!*goes_on) return Done{};
  }
  const int fault = opened_->finish();
  if (fault < 0 && fault != AVERROR_EOF) return refused_frame(index_, sink.number(), fault);
  const Result<bool> received = receive(sink);
  return received ? Status(Done{}) : received.error();
}

// A new decoder for each stretch, so that a frame does not depend on the stretches before its own.
Status StretchDecoder::open(uint32_t packet, Aim aim) {
  const std::span<const uint8_t> header = index_.changes.at(ChangeKind::kHeader, packet);
  if (!header.empty()) changed_ = with_header(*index_.parameters, header);
  bool has_room = true;
  const auto prepare = [&](AVCodecContext& context) {
    context.has_b_frames = index_.reordered;
    context.max_pixels = pixels_max(index_.picture);
    if (aim == Aim::kLooks) context.skip_idct = context.skip_loop_filter = AVDISCARD_ALL;
    has_room = uses_.frames.serve(context, index_.picture);
  };
  const auto opened = uses_.decoders.decoder_for(header.empty() ? *index_.parameters : *changed_, "video", prepare);
  if (!has_room) return media::no_room();
  if (!opened) return opened.error();
  opened_ = *opened;
  return Done{};
}

Result<bool> StretchDecoder::send(uint32_t number, bool is_first, const Sink& sink, Aim aim) {
  if (const Status within = check_limits(); !within) return within.error();
  const VideoPacket& packet = index_.packets[number];
  opened_->context->skip_frame = sink.is_wanted(packet) ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  std::span<const uint8_t> data = index_.data_of(packet, file_);
  if (data.empty()) return lacking(sink).error();
  if (!sets_.empty()) {
    sets_.insert(sets_.end(), data.begin(), data.end());
    data = sets_;
  }
  // The decoder was opened with the header that counts at its first packet.
  const StreamChanges& changes = index_.changes;
  const PacketSides sides{
      .header = is_first ? std::span<const uint8_t>() : changes.of(ChangeKind::kHeader, number),
      .palette = is_first ? changes.at(ChangeKind::kPalette, number) : changes.of(ChangeKind::kPalette, number)};
  ++packets_sent_;
  // The decoder's times are the numbers of the frames, so that each is told from all others.
  const int64_t time = packet.frame == kNoFrame ? AV_NOPTS_VALUE : int64_t{packet.frame};
  const int fault = opened_->send(data, packet.is_key, time, sides);
  sets_.clear();
  if (fault < 0 && fault != AVERROR(EAGAIN) && aim == Aim::kPixels) return refused_frame(index_, sink.number(), fault);
  return receive(sink);
}

Result<bool> StretchDecoder::receive(const Sink& sink) {
  for (;;) {
    AVFrame& frame = *opened_->frame;
    const int fault = lib::avcodec_receive_frame(opened_->context.get(), &frame);
    if (fault == AVERROR(EAGAIN) || fault == AVERROR_EOF) return true;
    if (fault < 0) return refused_frame(index_, sink.number(), fault);
    check_enumerations(frame);
    Result<bool> taken = uses_.frames.pay_for(*opened_->context, {frame.width, frame.height})
                             ? sink.take(frame)
                             : Result<bool>(media::no_room());
    lib::av_frame_unref(&frame);
    if (!taken || !*taken) return taken;
  }
}

// An index that was kept may be of another file.
Status StretchDecoder::lacking(const Sink& sink) const {
  if (file_.is_whole()) return damaged_frame(index_, sink.number());
  return Error{Trouble::kUnread, "a part of the video has not been read"};
}

Status StretchDecoder::check_limits() {
  if (++decoded_ > kDecodedMax)
    return Error{Trouble::kContent, "more than " + std::to_string(kDecodedMax) +
                                        " frames would have to be decoded for one clip: encode the video with more "
                                        "key frames"};
  return budget_.check();
}

}  // namespace spdld::ffmpeg
