#include "daemon/media/ffmpeg/audio_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "daemon/media/ffmpeg/decoder_pool.h"

namespace spdld::ffmpeg {
namespace {

constexpr uint64_t kBetweenChecks = 8;  // packets from one look at the CPU time to the next

// How numbers of type T mean samples.
template <typename T>
struct Meaning {
  T zero;
  float scale;

  float of(T number) const { return static_cast<float>(number - zero) * scale; }
};

// One channel's numbers, from a sample on, `step` apart.
template <typename T>
struct Numbers {
  const T* first;
  size_t step;

  Numbers(const AVFrame& frame, int channel, size_t at) {
    const bool is_planar = lib::av_sample_fmt_is_planar(static_cast<AVSampleFormat>(frame.format)) != 0;
    step = is_planar ? 1 : static_cast<size_t>(frame.ch_layout.nb_channels);
    first = reinterpret_cast<const T*>(frame.extended_data[is_planar ? channel : 0]) + at * step +
            (is_planar ? 0 : static_cast<size_t>(channel));
  }
};

// Calls visit() with the meaning of the frame's numbers. False: their type is not known.
template <typename Visit>
bool with_meaning(const AVFrame& frame, const Visit& visit) {
  switch (lib::av_get_packed_sample_fmt(static_cast<AVSampleFormat>(frame.format))) {
    case AV_SAMPLE_FMT_U8:
      visit(Meaning<uint8_t>{0x80, 0x1p-7f});
      return true;
    case AV_SAMPLE_FMT_S16:
      visit(Meaning<int16_t>{0, 0x1p-15f});
      return true;
    case AV_SAMPLE_FMT_S32:
      visit(Meaning<int32_t>{0, 0x1p-31f});
      return true;
    case AV_SAMPLE_FMT_S64:
      visit(Meaning<int64_t>{0, 0x1p-63f});
      return true;
    case AV_SAMPLE_FMT_FLT:
      visit(Meaning<float>{0, 1});
      return true;
    case AV_SAMPLE_FMT_DBL:
      visit(Meaning<double>{0, 1});
      return true;
    default:
      return false;
  }
}

// Calls run(step), with a step of 1 or 2 that the compiler knows: it takes several samples at once then.
template <typename Run>
void with_step(size_t step, const Run& run) {
  if (step == 1) return run(std::integral_constant<size_t, 1>());
  if (step == 2) return run(std::integral_constant<size_t, 2>());
  run(step);
}

// Of one channel, [at, at + count). False: the decoder gives samples of a type that is not known.
bool convert_channel(const AVFrame& frame, int channel, size_t at, size_t count, float* to) {
  return with_meaning(frame, [&]<typename T>(const Meaning<T>& meaning) {
    const Numbers<T> numbers(frame, channel, at);
    with_step(numbers.step, [&](auto step) {
      for (size_t i = 0; i < count; ++i) to[i] = meaning.of(numbers.first[i * step]);
    });
  });
}

// The mean of two channels, as add_channel() and finish_mean() make it.
bool convert_pair(const AVFrame& frame, size_t at, size_t count, float* to) {
  return with_meaning(frame, [&]<typename T>(const Meaning<T>& meaning) {
    const Numbers<T> a(frame, 0, at), b(frame, 1, at);
    with_step(a.step, [&](auto step) {
      for (size_t i = 0; i < count; ++i) to[i] = (meaning.of(a.first[i * step]) + meaning.of(b.first[i * step])) * 0.5f;
    });
  });
}

// Samples of a packet, decoded by libavcodec and by own code.
struct LibraryFrame {
  const AVFrame& frame;

  bool channel(int channel, size_t at, size_t count, float* to) const {
    return convert_channel(frame, channel, at, count, to);
  }
  bool pair_mean(size_t at, size_t count, float* to) const { return convert_pair(frame, at, count, to); }
};
struct OwnFrame {
  const flac::FrameDecoder& decoder;

  bool channel(int channel, size_t at, size_t count, float* to) const {
    decoder.channel(channel, at, count, to);
    return true;
  }
  bool pair_mean(size_t at, size_t count, float* to) const {
    decoder.pair_mean(at, count, to);
    return true;
  }
};

// None: own code does not decode the sound.
std::optional<flac::Stream> flac_stream_of(const AudioIndex& index) {
  const AVCodecParameters& codec = *index.parameters->codec;
  if (codec.codec_id != AV_CODEC_ID_FLAC || codec.extradata_size <= 0) return std::nullopt;
  const auto stream = flac::read_stream_info({codec.extradata, static_cast<size_t>(codec.extradata_size)});
  const bool is_same = stream && stream->rate_hz == index.rate_hz && stream->channels == index.channels;
  return is_same ? stream : std::nullopt;
}

}  // namespace

AudioDecoder::AudioDecoder(const media::DecodeLimits& limits, bool only_libavcodec)
    : limits_(limits), only_libavcodec_(only_libavcodec), decoders_(std::make_unique<DecoderPool>()) {}
AudioDecoder::~AudioDecoder() = default;

void AudioDecoder::shrink(size_t bytes_max) {
  decoders_->shrink(bytes_max);
  flac_.shrink(bytes_max);
  padded_.shrink(bytes_max);
}

// Where samples go.
struct AudioDecoder::Target {
  float* to;
  size_t stride;
  bool is_mean;  // of all channels
};

// One call of decode() or decode_mean().
class AudioDecoder::Run {
 public:
  Run(AudioDecoder& decoder, const AudioIndex& index, const ByteParts& file)
      : decoder_(decoder), index_(index), file_(file), budget_(decoder.limits_) {
    if (!decoder.only_libavcodec_) flac_ = flac_stream_of(index);
  }

  Status run(uint64_t first, uint64_t count, const Target& target) {
    first_ = next_ = first, end_ = first + count, to_ = target;
    target_ = index_.packet_of(first);
    const size_t start = index_.start_of(target_);
    if (start > 0 && index_.needs_first_packet())
      if (const Status sent = send(0); !sent) return sent;
    for (size_t i = start; i < index_.packets.size() && next_ < end_; ++i)
      if (const Status sent = send(i); !sent) return sent;
    if (next_ == end_) return Done{};
    if (opened_ == nullptr) return damaged();
    const int fault = opened_->finish();
    if (fault < 0 && fault != AVERROR_EOF) return refusal(fault);
    if (const Status received = receive(index_.packets.size()); !received) return received;
    return next_ == end_ ? Status(Done{}) : Status(damaged());
  }

 private:
  Status send(size_t number) {
    if (const Status within = check_limits(); !within) return within;
    const AudioPacket& packet = index_.packets[number];
    const std::span<const uint8_t> data = index_.data_of(packet, file_);
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
    current_ = static_cast<int64_t>(number), within_ = 0;
    return take(OwnFrame{decoder_.flac_}, decoder_.flac_.samples(), true);
  }

  // Opens a decoder, for the first packet that libavcodec gets.
  Status open() {
    if (opened_ != nullptr) return Done{};
    const auto prepare = [](AVCodecContext& context) {
      context.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;  // the index says which samples are left out
    };
    const Result<OpenedDecoder*> opened = decoder_.decoders_->decoder_for(*index_.parameters, "sound", prepare);
    if (!opened) return opened.error();
    opened_ = *opened;
    return Done{};
  }

  Status receive(size_t number) {
    while (next_ < end_) {
      AVFrame& frame = *opened_->frame;
      const int fault = lib::avcodec_receive_frame(opened_->context.get(), &frame);
      if (fault == AVERROR(EAGAIN) || fault == AVERROR_EOF) return Done{};
      if (fault < 0 && number < target_) return Done{};
      if (fault < 0) return refusal(fault);
      const Status taken = take(frame);
      lib::av_frame_unref(&frame);
      if (!taken) return taken;
    }
    return Done{};
  }

  // The decoder may give several frames of a packet; all but the first one have no time.
  Status take(const AVFrame& frame) {
    if (frame.pts != AV_NOPTS_VALUE) current_ = frame.pts, within_ = 0;
    if (frame.nb_samples < 0 || current_ < 0) return damaged();
    const bool is_expected = frame.ch_layout.nb_channels == index_.channels && frame.sample_rate == index_.rate_hz;
    const bool is_marked = frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
    return take(LibraryFrame{frame}, static_cast<uint64_t>(frame.nb_samples), is_expected && !is_marked);
  }

  // The next samples of the current packet.
  template <typename Frame>
  Status take(const Frame& frame, uint64_t samples, bool is_good) {
    const uint64_t begin = within_;
    within_ += samples;
    if (current_ < static_cast<int64_t>(target_) || next_ == end_) return Done{};
    const auto number = static_cast<size_t>(current_);
    if (number >= index_.packets.size()) return damaged();
    const AudioPacket& packet = index_.packets[number];
    if (packet.count == 0) return Done{};
    if (!is_good || within_ > packet.decoded || packet.first > next_) return damaged();
    const uint64_t at = packet.skipped + (next_ - packet.first);  // of what the decoder makes of the packet
    if (at < begin) return damaged();
    const uint64_t end = std::min<uint64_t>(within_, packet.skipped + packet.count);
    return at < end ? copy(frame, at - begin, std::min(end - at, end_ - next_)) : Status(Done{});
  }

  template <typename Frame>
  Status copy(const Frame& frame, uint64_t at, uint64_t count) {
    bool is_known = true;
    if (to_.is_mean) {
      is_known = copy_mean(frame, at, count, to_.to + (next_ - first_));
    } else {
      for (int channel = 0; channel < index_.channels; ++channel) {
        float* const to = to_.to + static_cast<size_t>(channel) * to_.stride + (next_ - first_);
        is_known = is_known && frame.channel(channel, at, count, to);
      }
    }
    if (!is_known) return Error{Trouble::kContent, "the sound's decoder gives samples of a type that is not known"};
    next_ += count;
    return Done{};
  }

  // A few samples at a time, which stay in the processor's nearest cache.
  template <typename Frame>
  bool copy_mean(const Frame& frame, uint64_t at, uint64_t count, float* to) const {
    if (index_.channels == 2) return frame.pair_mean(at, count, to);
    std::array<float, 1024> channel_samples;
    for (uint64_t done = 0; done < count;) {
      const auto size = std::min<size_t>(count - done, channel_samples.size());
      if (!frame.channel(0, at + done, size, to + done)) return false;
      for (int channel = 1; channel < index_.channels; ++channel) {
        frame.channel(channel, at + done, size, channel_samples.data());
        add_channel(std::span(channel_samples).first(size), to + done);
      }
      finish_mean(index_.channels, {to + done, size});
      done += size;
    }
    return true;
  }

  // An index that was kept may be of another file.
  Error lacking() const {
    return file_.is_whole() ? damaged() : Error{Trouble::kUnread, "a part of the sound has not been read"};
  }

  Error damaged() const {
    const double at_s = static_cast<double>(next_) / index_.rate_hz;
    return {Trouble::kContent, "sample " + std::to_string(next_) + " of the sound, at " + std::to_string(at_s) +
                                   " s, can't be decoded: its data is damaged"};
  }

  Error refusal(int fault) const {
    if (fault == AVERROR(ENOMEM)) return fault_of("decoding a sound", fault);
    return damaged();
  }

  Status check_limits() { return ++decoded_ % kBetweenChecks == 0 ? budget_.check() : Status(Done{}); }

  AudioDecoder& decoder_;
  const AudioIndex& index_;
  const ByteParts& file_;
  OpenedDecoder* opened_ = nullptr;  // null: own code has decoded all packets
  const media::CpuBudget budget_;
  std::optional<flac::Stream> flac_;  // none: libavcodec decodes the packets
  uint64_t first_ = 0, end_ = 0;      // the range of samples
  uint64_t next_ = 0;                 // the first sample that is not yet written
  size_t target_ = 0;                 // the packet that gives the first one
  int64_t current_ = -1;              // the packet of the last frame
  uint64_t within_ = 0;               // samples that the decoder gave of it
  Target to_ = {};
  uint64_t decoded_ = 0;
};

Status AudioDecoder::decode(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count, float* to,
                            size_t stride) {
  return decode_to({to, stride, false}, index, file, first, count);
}

Status AudioDecoder::decode_mean(const AudioIndex& index, const ByteParts& file, uint64_t first, uint64_t count,
                                 float* to) {
  return decode_to({to, count, true}, index, file, first, count);
}

Status AudioDecoder::decode_to(const Target& target, const AudioIndex& index, const ByteParts& file, uint64_t first,
                               uint64_t count) {
  if (count == 0) return Done{};
  return Run(*this, index, file).run(first, count, target);
}

void add_channel(std::span<const float> channel, float* sums) {
  for (size_t i = 0; i < channel.size(); ++i) sums[i] += channel[i];
}

void finish_mean(int channels, std::span<float> sums) {
  if (std::has_single_bit(static_cast<unsigned>(channels))) {  // a product is exact there, and faster
    const float part = 1 / static_cast<float>(channels);
    for (float& sum : sums) sum *= part;
  } else {
    for (float& sum : sums) sum /= static_cast<float>(channels);
  }
}

const std::string& decoder_version() {
  static const std::string version = version_text("libavcodec", lib::avcodec_version());
  return version;
}

}  // namespace spdld::ffmpeg
