#include "daemon/media/ffmpeg/audio_index.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/media/ffmpeg/decoder_pool.h"
#include "daemon/media/ffmpeg/flac_frames.h"
#include "daemon/media/ffmpeg/packet_samples.h"
#include "daemon/media/ffmpeg/wave_format.h"

namespace spdld::ffmpeg {
namespace {

// A frame of MP3 may begin so many bytes before its own packet; a packet's head holds no such bytes.
constexpr uint64_t kReservoirBytes = 511, kMp3HeadBytes = 38;
// Opus predicts from frame to frame: the energy of bands, and in its mode for speech the filters' memory. After so much
// sound, what a prediction began with is rounded away.
constexpr uint64_t kOpusPreroll = 48'000, kOpusSpeechPreroll = 240'000;

// HE-AAC replicates bands (SBR) by levels that are told as changes, up to a frame that tells them anew, and by noise
// from a table. The place in the table is the same again behind so many frames, whatever bands are replicated.
constexpr size_t kSbrPreroll = 32, kSbrNoiseFrames = 16;

bool has_sbr(const AVCodecParameters& codec) {
  return codec.codec_id == AV_CODEC_ID_AAC &&
         (codec.profile == FF_PROFILE_AAC_HE || codec.profile == FF_PROFILE_AAC_HE_V2);
}

// The first packet comes before, so that the frames before `packet` are, but for a multiple of kSbrNoiseFrames, as many
// as they are in the file.
size_t start_of_sbr(size_t packet) {
  if (packet <= kSbrPreroll) return 0;
  return (packet - kSbrPreroll - 1) / kSbrNoiseFrames * kSbrNoiseFrames + 1;
}

// The decoders of AAC tell the rate and the channels only as they go, where SBR or PS is not announced.
bool tells_parameters(const AVCodecParameters& stream) {
  return stream.sample_rate > 0 && stream.ch_layout.nb_channels > 0 && stream.codec_id != AV_CODEC_ID_NONE &&
         stream.codec_id != AV_CODEC_ID_AAC;
}

bool is_pcm(AVCodecID codec) { return std::string_view(lib::avcodec_get_name(codec)).starts_with("pcm_"); }

bool is_independent(AVCodecID codec) {
  return is_pcm(codec) || codec == AV_CODEC_ID_FLAC || codec == AV_CODEC_ID_ALAC || codec == AV_CODEC_ID_WAVPACK ||
         codec == AV_CODEC_ID_TTA;
}

// RFC 7845, 5.1: samples that a decoder of Opus leaves out by itself, where the container says no other number.
uint32_t opus_delay(const AVCodecParameters& codec) {
  constexpr int kHeadBytes = 19, kDelayAt = 10;
  const bool has_head = codec.codec_id == AV_CODEC_ID_OPUS && codec.extradata_size >= kHeadBytes;
  return has_head ? AV_RL16(codec.extradata + kDelayAt) : 0;
}

class AudioIndexer {
 public:
  AudioIndexer(const ByteParts& file, const media::DecodeLimits& limits, bool only_libavformat)
      : file_(file), input_(file, limits, only_libavformat), only_libavformat_(only_libavformat) {}

  Result<AudioIndex> run() {
    if (const Status opened = input_.open(); !opened) return opened.error();
    if (const Status chosen = choose(); !chosen) return chosen.error();
    if (const Status stored = correct_pcm(); !stored) return stored.error();
    if (const Status checked = check(); !checked) return checked.error();
    if (const Status ready = input_.begin_packets(stream_->codecpar->codec_id); !ready) return ready.error();
    if (flac_frames_)
      add_flac_frames();
    else if (const Status read = read_packets(); !read)
      return read.error();
    if (index_.samples == 0) return Error{Trouble::kContent, "the sound has no samples"};
    return std::move(index_);
  }

  const Input& input() const { return input_; }

 private:
  Status choose() {
    stream_ = input_.choose(AVMEDIA_TYPE_AUDIO);
    if (stream_ == nullptr || !(tells_parameters(*stream_->codecpar) || read_flac_headers())) {
      if (const Status found = input_.find_parameters(); !found) return found;
      stream_ = input_.choose(AVMEDIA_TYPE_AUDIO);
    }
    if (stream_ == nullptr) return Error{Trouble::kContent, "the file holds no sound"};
    return Done{};
  }

  // Samples of PCM have the bytes that the container says.
  Status correct_pcm() {
    const AVCodecParameters& codec = *stream_->codecpar;
    const std::string_view container = input_.context().iformat->name;
    const bool is_wave = container == "wav" || container == "w64";
    if (is_wave && (is_pcm(codec.codec_id) || codec.codec_id == AV_CODEC_ID_NONE)) return correct_wave();
    if (!is_pcm(codec.codec_id)) return Done{};
    const auto channels = static_cast<uint32_t>(std::max(codec.ch_layout.nb_channels, 1));
    const auto block = static_cast<uint32_t>(std::max(codec.block_align, 0));
    const auto bits = static_cast<uint32_t>(lib::av_get_bits_per_sample(codec.codec_id));
    if (block > channels * bits / 8 && block % channels == 0) return too_wide_samples(bits, block / channels);
    return Done{};
  }
  Status correct_wave() {
    AVCodecParameters& codec = *stream_->codecpar;
    const auto format = file_.is_whole() ? wave_format_of(file_.from(0)) : std::nullopt;
    if (!format || static_cast<int64_t>(format->channels) != codec.ch_layout.nb_channels) return Done{};
    const Result<AVCodecID> right = wave_codec_of(*format, codec.codec_id);
    if (!right) return right.error();
    const int bits = lib::av_get_bits_per_sample(*right);
    // libavformat ends packets by this number.
    if (is_pcm(*right)) codec.block_align = codec.ch_layout.nb_channels * bits / 8;
    if (*right == codec.codec_id) return Done{};
    codec.codec_id = *right;
    codec.bits_per_coded_sample = bits;
    stream_->duration = AV_NOPTS_VALUE;  // libavformat has counted the samples by the other codec
    return Done{};
  }

  // Finds the frames of a FLAC file by their headers, and the stream's parameters in STREAMINFO. False: libavformat has
  // to find them; nothing has changed.
  bool read_flac_headers() {
    AVCodecParameters& codec = *stream_->codecpar;
    const bool is_flac = std::string_view(input_.context().iformat->name) == "flac" && codec.extradata_size > 0;
    const AVCodec* const decoder = lib::avcodec_find_decoder(codec.codec_id);
    if (only_libavformat_ || !is_flac || decoder == nullptr || !file_.is_whole()) return false;
    const CodecContext opened(allocated(lib::avcodec_alloc_context3(decoder)));
    const bool is_open = lib::avcodec_parameters_to_context(opened.get(), &codec) >= 0 &&
                         lib::avcodec_open2(opened.get(), decoder, nullptr) >= 0;
    const std::optional<uint64_t> start = is_open ? input_.packets_start() : std::nullopt;
    if (!start) return false;
    const FlacStream stream{opened->sample_rate, opened->ch_layout.nb_channels, opened->bits_per_raw_sample};
    flac_frames_ = find_flac_frames(file_.from(0), *start, stream, input_.budget());
    if (flac_frames_ && lib::avcodec_parameters_from_context(&codec, opened.get()) < 0) throw std::bad_alloc();
    return flac_frames_.has_value();
  }

  Status check() {
    const AVCodecParameters& codec = *stream_->codecpar;
    auto parameters = decoder_parameters(codec, "sound");
    if (!parameters) return parameters.error();
    const int channels = codec.ch_layout.nb_channels;
    if (channels < 1 || channels > kAudioChannelsMax)
      return Error{Trouble::kContent,
                   "the sound claims " + std::to_string(channels) + " channels: from 1 to 64 are read"};
    if (codec.sample_rate < kAudioRateMin_hz || codec.sample_rate > kAudioRateMax_hz)
      return Error{Trouble::kContent, "the sound claims " + std::to_string(codec.sample_rate) +
                                          " samples a second: from 1000 to 768000 are read"};
    index_.parameters = std::move(*parameters);
    index_.rate_hz = codec.sample_rate;
    index_.channels = channels;
    return Done{};
  }

  // A file whose end is missing has the samples that are there, as players play them.
  Status read_packets() {
    PacketSamples samples(*stream_);
    skip_ = opus_delay(*stream_->codecpar);
    const PacketHandle packet(allocated(lib::av_packet_alloc()));
    for (;;) {
      const Result<bool> read = input_.read(*packet);
      const bool is_unread = !read && read.error().trouble == Trouble::kUnread;
      if (!read && (index_.packets.empty() || input_.is_spent() || is_unread)) return read.error();
      if (!read || !*read) return Done{};
      if (packet->size <= 0) continue;
      if (index_.packets.size() == kAudioPacketsMax)
        return Error{Trouble::kContent, "the sound has more than " + std::to_string(kAudioPacketsMax) + " packets"};
      const auto decoded = samples.of(*packet);
      if (!decoded)
        return Error{Trouble::kContent, "packet " + std::to_string(index_.packets.size()) +
                                            " of the sound does not tell how many samples it holds"};
      add(*packet, *decoded);
      if (add_rest_of_wav()) return Done{};
    }
  }

  void add_flac_frames() {
    index_.packets.reserve(flac_frames_->size());
    for (const FlacFrame& frame : *flac_frames_) {
      index_.packets.push_back({.offset = frame.offset,
                                .first = index_.samples,
                                .bytes = frame.bytes,
                                .decoded = frame.samples,
                                .count = frame.samples});
      index_.samples += frame.samples;
    }
    index_.preroll = kOpusPreroll;  // as add() has it for other codecs
  }

  // The samples of a WAV file of PCM lie one behind the other, so that the packet behind which they lie tells of all of
  // them. False: this is another file.
  bool add_rest_of_wav() {
    constexpr uint64_t kPacketSamples = 4096;
    const AVCodecParameters& codec = *stream_->codecpar;
    const int block = codec.ch_layout.nb_channels * lib::av_get_bits_per_sample(codec.codec_id) / 8;
    const AudioPacket first = index_.packets.front();
    const bool is_plain = std::string_view(input_.context().iformat->name) == "wav" && is_pcm(codec.codec_id) &&
                          block > 0 && codec.block_align == block && stream_->duration > 0 && !first.is_copied &&
                          first.count == first.decoded;
    if (!is_plain) return false;
    const auto bytes = static_cast<uint64_t>(block);
    const uint64_t total = std::min(static_cast<uint64_t>(stream_->duration), (file_.size() - first.offset) / bytes);
    for (uint64_t at = index_.samples; at < total; at += kPacketSamples) {
      const uint64_t count = std::min(kPacketSamples, total - at);
      index_.packets.push_back({.offset = first.offset + at * bytes,
                                .first = at,
                                .bytes = static_cast<uint32_t>(count * bytes),
                                .decoded = static_cast<uint32_t>(count),
                                .count = static_cast<uint32_t>(count)});
    }
    index_.samples = std::max(index_.samples, total);
    return true;
  }

  void add(const AVPacket& packet, uint32_t decoded) {
    constexpr int kFirstWithoutSpeech = 16;  // of the configurations, RFC 6716, 3.1
    const bool has_speech = packet.data[0] >> 3 < kFirstWithoutSpeech;
    index_.preroll = std::max(index_.preroll, has_speech ? kOpusSpeechPreroll : kOpusPreroll);
    AudioPacket kept;
    kept.bytes = static_cast<uint32_t>(packet.size);
    kept.decoded = decoded;
    const PacketPlace place = input_.place_of(packet, index_.copied);
    kept.offset = place.offset, kept.is_copied = place.is_copied;
    trim(packet, kept);
    kept.first = index_.samples;
    if (index_.samples == 0 && kept.count > 0) index_.start_s = time_of(packet, kept.skipped);
    index_.samples += kept.count;
    index_.packets.push_back(kept);
  }

  // The time of the packet's sample behind so many skipped ones.
  double time_of(const AVPacket& packet, uint32_t skipped) const {
    if (packet.pts == AV_NOPTS_VALUE) return 0;
    return static_cast<double>(packet.pts) * av_q2d(stream_->time_base) +
           static_cast<double>(skipped) / static_cast<double>(index_.rate_hz);
  }

  // Leaves out what the container leaves out at the start and at the end, as libavcodec does where it decodes all
  // packets.
  void trim(const AVPacket& packet, AudioPacket& kept) {
    size_t bytes = 0;
    uint32_t at_end = 0;
    const uint8_t* const side = lib::av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &bytes);
    if (side != nullptr && bytes >= 10) {
      const uint32_t skip = AV_RL32(side);
      skip_ = skip > static_cast<uint32_t>(INT32_MAX) ? 0 : skip;
      at_end = AV_RL32(side + 4);
    }
    kept.skipped = std::min(skip_, kept.decoded);
    skip_ -= kept.skipped;
    kept.count = kept.decoded - kept.skipped;
    if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) kept.skipped = kept.decoded, kept.count = 0;
    index_.delay += kept.skipped;
    if (at_end > kept.count) at_end = 0;
    kept.count -= at_end;
    index_.padding += at_end;
  }

  const ByteParts& file_;
  Input input_;
  const bool only_libavformat_;
  AVStream* stream_ = nullptr;
  std::optional<std::vector<FlacFrame>> flac_frames_;
  AudioIndex index_;
  uint32_t skip_ = 0;  // samples that are still to be left out
};

}  // namespace

AudioIndex::AudioIndex() = default;
AudioIndex::~AudioIndex() = default;
AudioIndex::AudioIndex(AudioIndex&&) noexcept = default;
AudioIndex& AudioIndex::operator=(AudioIndex&&) noexcept = default;

size_t AudioIndex::packet_of(uint64_t sample) const {
  const auto behind = std::upper_bound(packets.begin(), packets.end(), sample,
                                       [](uint64_t at, const AudioPacket& packet) { return at < packet.first; });
  // Packets that give no samples lie at the same number as the packet behind them.
  return static_cast<size_t>(behind - packets.begin()) - 1;
}

bool AudioIndex::depends_on_start() const { return parameters->codec->codec_id == AV_CODEC_ID_AAC; }

bool AudioIndex::needs_first_packet() const { return has_sbr(*parameters->codec); }

size_t AudioIndex::start_of(size_t packet) const {
  const AVCodecID codec = parameters->codec->codec_id;
  if (is_independent(codec)) return packet;
  const auto back = [&](size_t count) { return packet - std::min(count, packet); };
  size_t start = packet;
  uint64_t before = 0;
  switch (codec) {
    case AV_CODEC_ID_AAC:
      if (has_sbr(*parameters->codec)) return start_of_sbr(packet);
      return back(2);
    case AV_CODEC_ID_VORBIS:  // a block overlaps with the one before it
      return back(2);
    case AV_CODEC_ID_MP1:
    case AV_CODEC_ID_MP2:
      return back(3);
    case AV_CODEC_ID_MP3:  // a frame's data may begin in frames before it, and three more fill the filters
      while (start > 0 && before < kReservoirBytes) {
        --start;
        before += packets[start].bytes - std::min<uint64_t>(packets[start].bytes, kMp3HeadBytes);
      }
      return start - std::min<size_t>(start, 3);
    case AV_CODEC_ID_OPUS:
      while (start > 0 && before < preroll) before += packets[--start].decoded;
      return start;
    default:
      return 0;
  }
}

std::vector<ByteRange> AudioIndex::ranges_of(uint64_t first, uint64_t count) const {
  constexpr size_t kBehind = 2;           // packets behind the last one: some decoders give samples late
  constexpr uint64_t kGapMax = 64 << 10;  // packets of a video lie between the packets of its sound
  std::vector<ByteRange> ranges;
  const auto add = [&](const AudioPacket& packet) {
    if (!packet.is_copied) ranges.push_back({packet.offset, packet.bytes});
  };
  const size_t last = count == 0 ? packet_of(first) : packet_of(first + count - 1);
  if (needs_first_packet()) add(packets.front());
  for (size_t i = start_of(packet_of(first)); i < packets.size() && i <= last + kBehind; ++i) add(packets[i]);
  join_ranges(ranges, kGapMax);
  return ranges;
}

std::span<const uint8_t> AudioIndex::data_of(const AudioPacket& packet, const ByteParts& file) const {
  return packet.is_copied ? ByteParts(copied).at(packet.offset, packet.bytes) : file.at(packet.offset, packet.bytes);
}

Result<AudioIndex> index_audio(const ByteParts& file, const media::DecodeLimits& limits,
                               std::vector<ByteRange>* unread) {
  AudioIndexer indexer(file, limits, false);
  Result<AudioIndex> index = indexer.run();
  if (!index && index.error().trouble == Trouble::kUnread && unread != nullptr) *unread = indexer.input().unread();
  return index;
}

Result<AudioIndex> index_audio_by_libavformat(const ByteParts& file, const media::DecodeLimits& limits) {
  return AudioIndexer(file, limits, true).run();
}

}  // namespace spdld::ffmpeg
