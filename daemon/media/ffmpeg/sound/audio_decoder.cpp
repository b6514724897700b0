#include "daemon/media/ffmpeg/sound/audio_decoder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/sound/audio_frame.h"
#include "daemon/media/signal/resampler.h"

namespace spdld::ffmpeg {
namespace {

constexpr uint64_t kBetweenChecks = 8;  // packets from one look at the CPU time to the next

// None: own code does not decode the sound.
std::optional<flac::Stream> flac_stream_of(const AudioLink& link) {
  const AVCodecParameters& codec = *link.parameters->codec;
  if (codec.codec_id != AV_CODEC_ID_FLAC || codec.extradata_size <= 0) return std::nullopt;
  const auto stream = flac::read_stream_info({codec.extradata, static_cast<size_t>(codec.extradata_size)});
  const bool is_same = stream && stream->rate_hz == link.rate_hz && stream->channels == link.channels;
  return is_same ? stream : std::nullopt;
}

// Of planes that follow one another. The mean is made of channels that are resampled, so that it is that of shared
// ones.
void write_mean_of(std::span<const float> planes, size_t channels, float* to) {
  const size_t count = planes.size() / channels;
  std::copy_n(planes.begin(), count, to);
  for (size_t channel = 1; channel < channels; ++channel) add_channel(planes.subspan(channel * count, count), to);
  finish_mean(static_cast<int>(channels), {to, count});
}

}  // namespace

AudioDecoder::AudioDecoder(const media::DecodeLimits& limits, bool only_libavcodec)
    : limits_(limits), only_libavcodec_(only_libavcodec), decoders_(std::make_unique<DecoderPool>()) {}
AudioDecoder::~AudioDecoder() = default;

void AudioDecoder::shrink(size_t bytes_max) {
  decoders_->shrink(bytes_max);
  flac_.shrink(bytes_max);
  padded_.shrink(bytes_max);
  resampling_.shrink(bytes_max);
}

// One call of decode() or decode_mean().
class AudioDecoder::Decoding {
 public:
  Decoding(AudioDecoder& decoder, const AudioLink& link, const ByteParts& file)
      : decoder_(decoder), link_(link), file_(file), budget_(decoder.limits_) {
    if (!decoder.only_libavcodec_) flac_ = flac_stream_of(link);
  }

  // No packet before this one is decoded, though samples may depend on it.
  void start_from(size_t packet) { start_min_ = packet; }

  Status run(uint64_t first, uint64_t count, const SampleTarget& target) {
    first_ = next_ = first;
    end_ = first + count;
    to_ = &target;
    target_ = link_.packet_of(first);
    const size_t start = std::max(link_.start_of(target_), start_min_);
    if (start > 0 && link_.needs_first_packet())
      if (const Status sent = send(0); !sent) return sent;
    for (size_t i = start; i < link_.packets.size() && next_ < end_; ++i)
      if (const Status sent = send(i); !sent) return sent;
    if (next_ == end_) return Done{};
    if (opened_ == nullptr) return damaged();
    const int fault = opened_->finish();
    if (fault < 0 && fault != AVERROR_EOF) return refusal(fault);
    if (const Status received = receive(link_.packets.size()); !received) return received;
    return next_ == end_ ? Status(Done{}) : Status(damaged());
  }

 private:
  Status send(size_t number) {
    if (const Status within = check_limits(); !within) return within;
    const AudioPacket& packet = link_.packets[number];
    const std::span<const uint8_t> data = link_.data_of(packet, file_);
    if (data.empty()) return lacking();
    ++decoder_.packets_sent_;
    if (const std::optional<Status> taken = take_own(number, data)) return *taken;
    if (const Status opened = open(); !opened) return opened;
    const int fault = opened_->send(data, true, static_cast<int64_t>(number));  // times are the numbers of the packets
    // A decoder that starts in the middle may miss what lies before it, until it reaches the range.
    if (fault < 0 && fault != AVERROR(EAGAIN) && number >= target_) return refusal(fault);
    return receive(number);
  }

  // Decodes the packet by own code. None: libavcodec has to, and the packets behind it as well, since it may keep in
  // mind what this packet tells of the stream.
  std::optional<Status> take_own(size_t number, std::span<const uint8_t> data) {
    static_assert(AV_INPUT_BUFFER_PADDING_SIZE >= flac::kPaddingBytes);
    if (!flac_ || !decoder_.flac_.decode(padded(data, decoder_.padded_), *flac_)) {
      flac_.reset();
      return std::nullopt;
    }
    ++decoder_.own_packets_;
    current_ = static_cast<int64_t>(number);
    within_ = 0;
    return take(OwnFrame{decoder_.flac_, flac_->channels}, decoder_.flac_.samples());
  }

  // Opens a decoder, for the first packet that libavcodec gets.
  Status open() {
    if (opened_ != nullptr) return Done{};
    const auto prepare = [](AVCodecContext& context) {
      context.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;  // the index says which samples are left out
    };
    const Result<OpenedDecoder*> opened = decoder_.decoders_->decoder_for(*link_.parameters, "sound", prepare);
    if (!opened) return opened.error();
    opened_ = *opened;
    return Done{};
  }

  Status receive(size_t number) {
    while (next_ < end_) {
      AVFrame& frame = *opened_->frame;
      const int fault = lib::avcodec_receive_frame(opened_->context.get(), &frame);
      if (fault == AVERROR(EAGAIN) || fault == AVERROR_EOF) return Done{};
      if (fault < 0 && (number < target_ || is_taken(number))) return Done{};
      if (fault < 0) return refusal(fault);
      const Status taken = take(frame);
      lib::av_frame_unref(&frame);
      if (!taken) return taken;
    }
    return Done{};
  }

  // Whether the packet's frames have come, so that the rest of it is none of them: a tag, maybe.
  bool is_taken(size_t number) const {
    return number < link_.packets.size() && current_ == static_cast<int64_t>(number) && within_ > 0 &&
           within_ == link_.packets[number].decoded;
  }

  // The decoder may give several frames of a packet; all but the first one have no time.
  Status take(const AVFrame& frame) {
    if (frame.pts != AV_NOPTS_VALUE) {
      current_ = frame.pts;
      within_ = 0;
    }
    if (frame.nb_samples < 0 || current_ < 0) return damaged();
    const auto samples = static_cast<uint64_t>(frame.nb_samples);
    if (!is_wanted()) return pass(samples);
    const bool is_marked = frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
    if (is_marked) return damaged();
    if (frame.sample_rate != link_.rate_hz) return changed_rate(frame.sample_rate);
    return take(LibraryFrame{frame}, samples);
  }

  // Whether samples of the current packet are asked for.
  bool is_wanted() const {
    if (current_ < static_cast<int64_t>(target_) || next_ == end_) return false;
    const auto number = static_cast<size_t>(current_);
    return number >= link_.packets.size() || link_.packets[number].count > 0;
  }
  Status pass(uint64_t samples) {
    within_ += samples;
    return Done{};
  }

  // The next samples of the current packet.
  template <typename Frame>
  Status take(const Frame& frame, uint64_t samples) {
    if (!is_wanted()) return pass(samples);
    const uint64_t begin = within_;
    within_ += samples;
    const auto number = static_cast<size_t>(current_);
    if (number >= link_.packets.size()) return damaged();
    const AudioPacket& packet = link_.packets[number];
    if (within_ > packet.decoded || packet.first > next_) return damaged();
    const uint64_t at = packet.skipped + (next_ - packet.first);  // of what the decoder makes of the packet
    if (at < begin) return damaged();
    const uint64_t end = std::min<uint64_t>(within_, packet.skipped + packet.count);
    return at < end ? copy(frame, at - begin, std::min(end - at, end_ - next_)) : Status(Done{});
  }

  template <typename Frame>
  Status copy(const Frame& frame, uint64_t at, uint64_t count) {
    if (!can_become(frame.channels(), *to_)) return changed_channels(frame.channels());
    const bool is_known = write_samples(frame, at, count, to_->behind(next_ - first_));
    if (!is_known) return Error{Trouble::kContent, "the sound's decoder gives samples of a type that is not known"};
    next_ += count;
    return Done{};
  }

  // An index that was kept may be of another file.
  Error lacking() const {
    return file_.is_whole() ? damaged() : Error{Trouble::kUnread, "a part of the sound has not been read"};
  }

  double seconds() const { return static_cast<double>(next_) / link_.rate_hz; }

  Error damaged() const {
    return {Trouble::kContent, "sample " + std::to_string(link_.begin + next_) + " of the sound, at " +
                                   std::to_string(seconds()) + " s, can't be decoded: its data is damaged"};
  }

  Error changed_rate(int rate_hz) const {
    return {Trouble::kContent,
            "the sound's rate changes from " + std::to_string(link_.rate_hz) + " to " + std::to_string(rate_hz) +
                " samples a second at " + std::to_string(seconds()) +
                " s, which is read of MP3, AC-3, Ogg and joined FLAC alone: convert the file to one rate"};
  }

  Error changed_channels(int channels) const {
    return {Trouble::kContent, "the sound's channels change from " + std::to_string(to_->channels) + " to " +
                                   std::to_string(channels) + " at " + std::to_string(seconds()) +
                                   " s, and only one channel becomes several, or several one: convert the file"};
  }

  Error refusal(int fault) const {
    if (is_missing_feature(fault)) return lacks_feature(link_.parameters->codec->codec_id, "sound");
    if (fault == AVERROR(ENOMEM)) return fault_of("decoding a sound", fault);
    return damaged();
  }

  Status check_limits() { return ++decoded_ % kBetweenChecks == 0 ? budget_.check() : Status(Done{}); }

  AudioDecoder& decoder_;
  const AudioLink& link_;
  const ByteParts& file_;
  OpenedDecoder* opened_ = nullptr;  // null: own code has decoded all packets
  const media::CpuBudget budget_;
  std::optional<flac::Stream> flac_;  // none: libavcodec decodes the packets
  uint64_t first_ = 0, end_ = 0;      // the range of samples
  uint64_t next_ = 0;                 // the first sample that is not yet written
  size_t start_min_ = 0;
  size_t target_ = 0;     // the packet that gives the first one
  int64_t current_ = -1;  // the packet of the last frame
  uint64_t within_ = 0;   // samples that the decoder gave of it
  const SampleTarget* to_ = nullptr;
  uint64_t decoded_ = 0;
};

Status AudioDecoder::decode(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count, float* to,
                            size_t stride) {
  return decode_to({to, stride, index.channels, false}, index, file, first, count);
}

Status AudioDecoder::decode_mean(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count,
                                 float* to) {
  return decode_to({to, count, index.channels, true}, index, file, first, count);
}

Status AudioDecoder::try_packet(const AudioLink& link, const ByteParts& file, size_t packet) {
  constexpr size_t kBefore = 12;
  constexpr uint64_t kFloatsMax = 1 << 22;  // more are not looked at
  const AudioPacket& tried = link.packets[packet];
  const auto channels = static_cast<uint64_t>(link.channels);
  if (tried.count == 0 || tried.count * channels > kFloatsMax) return Done{};
  std::vector<float> to(tried.count * channels);
  Decoding decoding(*this, link, file);
  decoding.start_from(packet - std::min(packet, kBefore));
  return decoding.run(tried.first, tried.count, {to.data(), tried.count, link.channels, false});
}

Status AudioDecoder::decode_to(SampleTarget target, const AudioIndex& index, const ByteParts& file, uint64_t first,
                               uint64_t count) {
  for (const uint64_t end = first + count; first < end;) {
    const AudioLink& link = index.link_of(first);
    const uint64_t at = first - link.begin, some = std::min(end, link.begin + link.given) - first;
    const Status decoded = link.rate_hz == index.rate_hz
                               ? Decoding(*this, link, file).run(at, some, target)
                               : decode_resampled(target, index.rate_hz, link, file, at, some);
    if (!decoded) return decoded;
    target = target.behind(some);
    first += some;
  }
  return Done{};
}

// Some at a time, so that memory is bounded. Little is decoded twice, at their borders.
Status AudioDecoder::decode_resampled(SampleTarget target, int rate_hz, const AudioLink& link, const ByteParts& file,
                                      uint64_t first, uint64_t count) {
  constexpr uint64_t kAtOnce = 1 << 18;  // samples of the faster rate
  constexpr uint64_t kOutputNs = 16;     // about
  const auto from = static_cast<uint64_t>(link.rate_hz), to = static_cast<uint64_t>(rate_hz);
  const audio::Resampler resampler(from, to);
  const uint64_t step = std::max<uint64_t>(1, from > to ? kAtOnce * to / from : kAtOnce);
  const auto planes = static_cast<size_t>(target.channels);
  std::vector<float> in, mean;
  for (const uint64_t end = first + count; first < end;) {
    const uint64_t some = std::min(step, end - first);
    const auto [in_first, in_count] = resampler.inputs(first, some, link.samples);
    in.resize(in_count * planes);
    mean.resize(target.is_mean ? some * planes : 0);
    const Status decoded =
        Decoding(*this, link, file).run(in_first, in_count, {in.data(), in_count, target.channels, false});
    if (!decoded) return decoded;
    if (limits_.guard != nullptr) limits_.guard->spend(kOutputNs * some * planes);
    const size_t stride = target.is_mean ? some : target.stride;
    float* const out = target.is_mean ? mean.data() : target.to;
    for (size_t plane = 0; plane < planes; ++plane)
      resampler.run(std::span(in).subspan(plane * in_count, in_count), in_first, first, {out + plane * stride, some},
                    resampling_);
    if (target.is_mean) write_mean_of(mean, planes, target.to);
    target = target.behind(some);
    first += some;
  }
  return Done{};
}

const std::string& decoder_version() {
  static const std::string version = version_text("libavcodec", lib::avcodec_version());
  return version;
}

}  // namespace spdld::ffmpeg
