#include "daemon/media/ffmpeg/sound/link_indexer.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "daemon/media/ffmpeg/sound/flac_frames.h"
#include "daemon/media/ffmpeg/sound/foreign_packets.h"
#include "daemon/media/ffmpeg/sound/packet_samples.h"
#include "daemon/media/ffmpeg/sound/stream_parameters.h"
#include "daemon/media/ffmpeg/sound/wave_format.h"
#include "daemon/media/flac/frame_decoder.h"

namespace spdld::ffmpeg {
namespace {

// Opus predicts from frame to frame: the energy of bands, and in its mode for speech the filters' memory. After so much
// sound, what a prediction began with is rounded away.
constexpr uint64_t kOpusPreroll = 48'000, kOpusSpeechPreroll = 240'000;

std::span<const uint8_t> side_data(const AVPacket& packet, AVPacketSideDataType type) {
  size_t bytes = 0;
  const uint8_t* const data = lib::av_packet_get_side_data(&packet, type, &bytes);
  return {data, data == nullptr ? 0 : bytes};
}

class LinkIndexer {
 public:
  LinkIndexer(const ByteParts& file, const media::DecodeLimits& limits, bool only_libavformat)
      : file_(file), input_(file, limits, only_libavformat), only_libavformat_(only_libavformat) {}

  Result<FoundLinks> run() {
    if (const Status opened = input_.open(); !opened) return opened.error();
    if (const Status chosen = choose(); !chosen) return chosen.error();
    if (const Status corrected = correct_parameters(); !corrected) return corrected.error();
    if (const Status checked = check(); !checked) return checked.error();
    if (const Status ready = input_.begin_packets(stream_->codecpar->codec_id); !ready) return ready.error();
    if (flac_frames_)
      add_flac_frames();
    else if (const Status read = read_packets(); !read)
      return read.error();
    look_at_end();
    if (shows_frames(stream_->codecpar->codec_id)) join_damaged_links(found_.links);
    std::erase_if(found_.links, [](const AudioLink& link) { return link.samples == 0; });
    for (const AudioLink& found : found_.links)
      if (found.samples > kAudioSamplesMax)
        return Error{Trouble::kContent, "the sound claims more samples than can be"};
    if (found_.links.empty()) return Error{Trouble::kContent, "the sound has no samples"};
    found_.foreign_bytes += foreign_.bytes();
    return std::move(found_);
  }

  const Input& input() const { return input_; }

 private:
  AudioLink& link() { return found_.links.back(); }

  Status choose() {
    stream_ = input_.choose(AVMEDIA_TYPE_AUDIO);
    if (stream_ == nullptr || !(tells_parameters(*stream_->codecpar) || read_flac_headers())) {
      if (const Status found = input_.find_parameters(); !found) return found;
      stream_ = input_.choose(AVMEDIA_TYPE_AUDIO);
    }
    if (stream_ == nullptr) return Error{Trouble::kContent, "the file holds no sound"};
    return Done{};
  }

  Status correct_parameters() {
    AVCodecParameters& codec = *stream_->codecpar;
    if (codec.codec_id != AV_CODEC_ID_FLAC || codec.extradata_size <= 0) return correct_pcm();
    const auto stream = flac::read_stream_info({codec.extradata, static_cast<size_t>(codec.extradata_size)});
    if (stream) correct(codec, stream->rate_hz, stream->channels);
    return Done{};
  }

  // Samples of PCM have the bytes that the container says.
  Status correct_pcm() {
    const AVCodecParameters& codec = *stream_->codecpar;
    const std::string_view container = input_.format();
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
    const bool is_flac = input_.format() == "flac" && codec.extradata_size > 0;
    const AVCodec* const decoder = lib::avcodec_find_decoder(codec.codec_id);
    if (!is_flac || decoder == nullptr || !file_.is_whole()) return false;
    const CodecContext opened(allocated(lib::avcodec_alloc_context3(decoder)));
    const bool is_open = lib::avcodec_parameters_to_context(opened.get(), &codec) >= 0 &&
                         lib::avcodec_open2(opened.get(), decoder, nullptr) >= 0;
    const std::optional<uint64_t> start = is_open ? input_.packets_start() : std::nullopt;
    if (!start) return false;
    const FlacStream stream{opened->sample_rate, opened->ch_layout.nb_channels, opened->bits_per_raw_sample};
    flac_frames_ = find_flac_frames(file_.from(0), *start, stream, input_.budget());
    is_one_flac_ = flac_frames_.has_value();
    if (only_libavformat_) flac_frames_.reset();
    if (flac_frames_ && lib::avcodec_parameters_from_context(&codec, opened.get()) < 0) throw std::bad_alloc();
    return flac_frames_.has_value();
  }

  Status check() {
    const AVCodecParameters& codec = *stream_->codecpar;
    const int channels = codec.ch_layout.nb_channels;
    if (codec.sample_rate == 0 || channels == 0)
      return Error{Trouble::kContent, "nothing tells the rate and the channels of the sound, which is coded as " +
                                          name_of_codec(codec.codec_id) +
                                          ": FFmpeg's decoder finds no frame that it can decode"};
    if (channels < 1 || channels > kAudioChannelsMax)
      return Error{Trouble::kContent,
                   "the sound claims " + std::to_string(channels) + " channels: from 1 to 64 are read"};
    if (codec.sample_rate < kAudioRateMin_hz || codec.sample_rate > kAudioRateMax_hz)
      return Error{Trouble::kContent, "the sound claims " + std::to_string(codec.sample_rate) +
                                          " samples a second: from 1000 to 768000 are read"};
    return begin_link();
  }

  // Of the stream's parameters.
  Status begin_link() {
    if (found_.links.size() == kAudioLinksMax)
      return Error{Trouble::kContent,
                   "the sound changes its rate more than " + std::to_string(kAudioLinksMax) + " times"};
    const AVCodecParameters& codec = *stream_->codecpar;
    auto parameters = decoder_parameters(codec, "sound");
    if (!parameters) return parameters.error();
    AudioLink& begun = found_.links.emplace_back();
    begun.parameters = std::move(*parameters);
    begun.rate_hz = codec.sample_rate;
    begun.channels = codec.ch_layout.nb_channels;
    return Done{};
  }

  // A file whose end is missing has the samples that are there, as players play them.
  Status read_packets() {
    PacketSamples samples(*stream_);
    const uint32_t wma_frame = wma_frame_samples(*stream_->codecpar);
    skip_ = opus_delay(*stream_->codecpar) + 2 * wma_frame;
    const PacketHandle packet(allocated(lib::av_packet_alloc()));
    uint64_t untold_bytes = 0;
    for (;;) {
      const Result<bool> read = input_.read(*packet);
      const bool is_unread = !read && read.error().trouble == Trouble::kUnread;
      if (!read && (packets_ == 0 || input_.is_spent() || is_unread)) return read.error();
      if (!read || !*read) break;
      if (packet->size <= 0) continue;
      if (is_cut_off(*packet)) {
        untold_bytes = static_cast<uint64_t>(packet->size);
        break;
      }
      if (packets_ == kAudioPacketsMax)
        return Error{Trouble::kContent, "the sound has more than " + std::to_string(kAudioPacketsMax) + " packets"};
      const std::optional<PacketSound> sound = samples.of(*packet);
      if (untold_bytes > 0 || (!sound && packets_ == 0)) return untold();
      if (!sound) {  // of the last packet: it was cut
        untold_bytes = static_cast<uint64_t>(packet->size);
        continue;
      }
      ++packets_;
      found_.may_be_cut = !sound->is_whole;
      if (const Status taken = take(*packet, *sound); !taken) return taken;
      if (add_rest_of_wav()) return Done{};
    }
    if (wma_frame > 0 && !link().packets.empty()) lengthen_last(wma_frame);
    found_.may_be_cut = found_.may_be_cut || !tells_ends();
    found_.foreign_bytes = untold_bytes;
    return Done{};
  }

  // A movie tells where its packets lie, and the file ends within this one. It is the same where the packet is not
  // read.
  bool is_cut_off(const AVPacket& packet) const {
    return (packet.flags & AV_PKT_FLAG_CORRUPT) != 0 && !is_pcm(stream_->codecpar->codec_id) &&
           input_.format().starts_with("mov,");
  }

  void look_at_end() {
    found_.may_be_joined_flacs = file_.is_whole() && !is_one_flac_ && input_.format() == "flac";
    if (stream_->codecpar->codec_id != AV_CODEC_ID_FLAC || link().packets.empty()) return;
    found_.may_be_cut = !is_intact_flac(link().data_of(link().packets.back(), file_));
  }

  // Whether a packet that lacks its end shows it. libavformat divides other streams by the beginnings of frames.
  bool tells_ends() const {
    constexpr std::array<std::string_view, 4> kDivided = {"mpegts", "mpeg", "ac3", "eac3"};
    return std::find(kDivided.begin(), kDivided.end(), input_.format()) == kDivided.end();
  }

  Error untold() const {
    return {Trouble::kContent, "the packets of the sound, which is coded as " +
                                   name_of_codec(stream_->codecpar->codec_id) +
                                   ", do not tell how many samples they hold: such a sound is not read"};
  }

  Status take(const AVPacket& packet, const PacketSound& sound) {
    if (!side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO).empty())
      return Error{Trouble::kContent, "the sound is encrypted"};
    if (const Status taken = take_header(side_data(packet, AV_PKT_DATA_NEW_EXTRADATA)); !taken) return taken;
    AudioPacket kept;
    kept.bytes = static_cast<uint32_t>(packet.size);
    kept.decoded = sound.samples;
    const PacketPlace place = input_.place_of(packet, link().copied);
    kept.offset = place.offset;
    kept.is_copied = place.is_copied;
    if (shows_frames(stream_->codecpar->codec_id)) {
      const std::span<const uint8_t> data(packet.data, kept.bytes);
      if (sound.samples == 0 || foreign_.is_in_tag(kept)) {
        foreign_.add(kept, data);
        return Done{};
      }
      if (const Status begun = begin_frame(kept, data, sound); !begun) return begun;
    }
    const bool is_looked_at = stream_->codecpar->codec_id == AV_CODEC_ID_AAC && link().packets.empty();
    if (is_looked_at && !kept.is_copied)
      if (const Status there = input_.need({kept.offset, kept.bytes}); !there) return there;
    add(packet, kept);
    return Done{};
  }

  // Another header of AAC, from which on a new decoder has the sound. Decoders of other codecs take none.
  Status take_header(std::span<const uint8_t> header) {
    AVCodecParameters& codec = *stream_->codecpar;
    if (header.empty() || codec.codec_id != AV_CODEC_ID_AAC || has_header(codec, header)) return Done{};
    if (const Status set = set_aac_header(header, codec); !set) return set;
    return check();
  }

  // A frame follows packets that are none. The headers of MPEG audio and of AC-3 tell the rate, too.
  Status begin_frame(AudioPacket& packet, std::span<const uint8_t> data, const PacketSound& sound) {
    const bool is_first = link().packets.empty();
    for (AudioPacket& damaged : foreign_.take(is_first, data)) {
      damaged.decoded = damaged.count = link().packets.back().decoded;
      append(damaged);
    }
    if (sound.rate_hz == 0) return Done{};
    AVCodecParameters& codec = *stream_->codecpar;
    if (is_first ? is_as_told(sound) : link().rate_hz == sound.rate_hz) return Done{};
    correct(codec, sound.rate_hz, sound.channels > 0 ? sound.channels : link().channels);
    const std::vector<uint8_t> copied =
        packet.is_copied ? std::vector(data.begin(), data.end()) : std::vector<uint8_t>();
    if (is_first) found_.links.pop_back();
    if (const Status begun = begin_link(); !begun) return begun;
    if (packet.is_copied) packet.offset = 0;
    link().copied = copied;
    return Done{};
  }

  bool is_as_told(const PacketSound& sound) const {
    const AudioLink& last = found_.links.back();
    return last.rate_hz == sound.rate_hz && (sound.channels == 0 || last.channels == sound.channels);
  }

  void lengthen_last(uint32_t samples) {
    AudioPacket& last = link().packets.back();
    last.decoded += samples;
    last.count += samples;
    link().samples += samples;
  }

  void append(AudioPacket packet) {
    packet.first = link().samples;
    link().samples += packet.count;
    link().packets.push_back(packet);
  }

  void add_flac_frames() {
    link().packets.reserve(flac_frames_->size());
    for (const FlacFrame& frame : *flac_frames_)
      append({.offset = frame.offset, .bytes = frame.bytes, .decoded = frame.samples, .count = frame.samples});
    link().preroll = kOpusPreroll;  // as add() has it for other codecs
  }

  // The samples of a WAV file of PCM lie one behind the other, so that the packet behind which they lie tells of all of
  // them. False: this is another file.
  bool add_rest_of_wav() {
    constexpr uint64_t kPacketSamples = 4096;
    const AVCodecParameters& codec = *stream_->codecpar;
    const int block = codec.ch_layout.nb_channels * lib::av_get_bits_per_sample(codec.codec_id) / 8;
    if (link().packets.empty()) return false;
    const AudioPacket first = link().packets.front();
    const bool is_plain = input_.format() == "wav" && is_pcm(codec.codec_id) && block > 0 &&
                          codec.block_align == block && stream_->duration > 0 && !first.is_copied &&
                          first.count == first.decoded;
    if (!is_plain) return false;
    const auto bytes = static_cast<uint64_t>(block);
    const uint64_t total = std::min(static_cast<uint64_t>(stream_->duration), (file_.size() - first.offset) / bytes);
    for (uint64_t at = link().samples; at < total; at += kPacketSamples) {
      const uint64_t count = std::min(kPacketSamples, total - at);
      link().packets.push_back({.offset = first.offset + at * bytes,
                                .first = at,
                                .bytes = static_cast<uint32_t>(count * bytes),
                                .decoded = static_cast<uint32_t>(count),
                                .count = static_cast<uint32_t>(count)});
    }
    link().samples = std::max(link().samples, total);
    return true;
  }

  void add(const AVPacket& packet, AudioPacket& kept) {
    constexpr int kFirstWithoutSpeech = 16;  // of the configurations, RFC 6716, 3.1
    const bool has_speech = packet.data[0] >> 3 < kFirstWithoutSpeech;
    link().preroll = std::max(link().preroll, has_speech ? kOpusSpeechPreroll : kOpusPreroll);
    trim(packet, kept);
    const bool is_first = link().samples == 0 && found_.links.size() == 1;
    if (is_first && kept.count > 0) found_.start_s = time_of(packet, kept.skipped);
    append(kept);
  }

  // The time of the packet's sample behind so many skipped ones.
  double time_of(const AVPacket& packet, uint32_t skipped) const {
    if (packet.pts == AV_NOPTS_VALUE) return 0;
    return static_cast<double>(packet.pts) * av_q2d(stream_->time_base) +
           static_cast<double>(skipped) / static_cast<double>(found_.links.back().rate_hz);
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
    } else if (stream_->codecpar->codec_id == AV_CODEC_ID_AAC && link().packets.empty()) {
      skip_ = faac_delay({packet.data, static_cast<size_t>(packet.size)});
    }
    kept.skipped = std::min(skip_, kept.decoded);
    skip_ -= kept.skipped;
    kept.count = kept.decoded - kept.skipped;
    if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) {
      kept.skipped = kept.decoded;
      kept.count = 0;
    }
    link().delay += kept.skipped;
    if (at_end > kept.count) at_end = 0;
    kept.count -= at_end;
    link().padding += at_end;
  }

  const ByteParts& file_;
  Input input_;
  const bool only_libavformat_;
  AVStream* stream_ = nullptr;
  std::optional<std::vector<FlacFrame>> flac_frames_;
  bool is_one_flac_ = false;  // frames of one FLAC file follow one another
  FoundLinks found_;
  ForeignPackets foreign_;
  uint64_t packets_ = 0;
  uint32_t skip_ = 0;  // samples that are still to be left out
};

}  // namespace

Result<FoundLinks> find_links(const ByteParts& file, const media::DecodeLimits& limits, bool only_libavformat,
                              std::vector<ByteRange>* unread) {
  LinkIndexer indexer(file, limits, only_libavformat);
  Result<FoundLinks> found = indexer.run();
  if (!found && found.error().trouble == Trouble::kUnread && unread != nullptr) *unread = indexer.input().unread();
  return found;
}

}  // namespace spdld::ffmpeg
