#include "daemon/media/ffmpeg/sound/packet_samples.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"

namespace spdld::ffmpeg {
namespace {

constexpr uint32_t kSamplesMax = 1u << 20;  // of a packet

// RFC 6716, 3.1 and 3.2: the configuration says how long a frame is, and the code how many frames there are.
std::optional<uint32_t> samples_of_opus(std::span<const uint8_t> packet) {
  constexpr std::array<uint32_t, 4> kSilk = {480, 960, 1920, 2880}, kCelt = {120, 240, 480, 960};
  constexpr uint32_t kOpusMax = 5760;  // 120 ms at 48 kHz
  if (packet.empty()) return std::nullopt;
  const unsigned config = packet[0] >> 3, code = packet[0] & 3;
  const uint32_t frame = config < 12 ? kSilk[config % 4] : config < 16 ? kSilk[config % 2] : kCelt[config % 4];
  uint32_t frames = code == 0 ? 1 : 2;
  if (code == 3) {
    if (packet.size() < 2) return std::nullopt;
    frames = packet[1] & 63;
  }
  if (frames == 0 || frames * frame > kOpusMax) return std::nullopt;
  return frames * frame;
}

// The number behind a frame's header, of so many bytes, as in UTF-8.
size_t coded_bytes(uint8_t first) {
  if (first < 0x80) return 1;
  size_t bytes = 0;
  while (bytes < 7 && (first & (0x80u >> bytes)) != 0) ++bytes;
  return bytes;
}

// RFC 9639, 9.1: the size of a frame's block.
std::optional<uint32_t> samples_of_flac(std::span<const uint8_t> packet) {
  constexpr size_t kFixed = 4;
  if (packet.size() < kFixed + 1) return std::nullopt;
  const unsigned code = packet[2] >> 4;
  if (code == 0) return std::nullopt;
  if (code == 1) return 192;
  if (code <= 5) return 576u << (code - 2);
  if (code >= 8) return 256u << (code - 8);
  const size_t at = kFixed + coded_bytes(packet[kFixed]);
  if (packet.size() < at + 2) return std::nullopt;
  return code == 6 ? packet[at] + 1u : (uint32_t{packet[at]} << 8 | packet[at + 1]) + 1u;
}

// The samples that the demuxer writes before a packet of Monkey's Audio, as its decoder reads them.
std::optional<uint32_t> samples_of_ape(std::span<const uint8_t> packet) {
  if (packet.size() < 4) return std::nullopt;
  return uint32_t{packet[3]} << 24 | uint32_t{packet[2]} << 16 | uint32_t{packet[1]} << 8 | packet[0];
}

// The samples behind the last whole block, for a file that was cut: as libavcodec's decoders count them.
uint32_t samples_of_part(const AVCodecParameters& codec, uint32_t bytes) {
  const auto channels = static_cast<uint32_t>(codec.ch_layout.nb_channels);
  const bool is_ima = codec.codec_id == AV_CODEC_ID_ADPCM_IMA_WAV && codec.bits_per_coded_sample == 4;
  const uint32_t head = (is_ima ? 4 : 7) * channels;
  if (bytes <= head) return 0;
  if (is_ima) return 1 + (bytes - head) / (4 * channels) * 8;
  return codec.codec_id == AV_CODEC_ID_ADPCM_MS ? (bytes - 6 * channels) * 2 / channels : 0;
}

// Of a codec whose packets are blocks of one length. None: it is another codec.
std::optional<uint32_t> samples_of_blocks(AVCodecParameters& codec, uint32_t bytes) {
  const bool is_known = codec.codec_id == AV_CODEC_ID_ADPCM_IMA_WAV || codec.codec_id == AV_CODEC_ID_ADPCM_MS;
  const auto block = static_cast<uint32_t>(std::max(codec.block_align, 0));
  if (!is_known || block == 0 || codec.ch_layout.nb_channels < 1) return std::nullopt;
  const uint32_t part = bytes % block;
  const int whole = bytes == part ? 0 : lib::av_get_audio_frame_duration2(&codec, static_cast<int>(bytes - part));
  const uint32_t samples = static_cast<uint32_t>(std::max(whole, 0)) + samples_of_part(codec, part);
  return samples > 0 ? std::optional(samples) : std::nullopt;
}

// The header of Speex in Ogg: the samples of a frame, and the frames of a packet.
std::optional<uint32_t> samples_of_speex(const AVCodecParameters& codec) {
  constexpr int kHeadBytes = 68, kFrameAt = 56, kFramesAt = 64;
  if (codec.extradata_size < kHeadBytes) return std::nullopt;
  const uint64_t frame = AV_RL32(codec.extradata + kFrameAt), frames = AV_RL32(codec.extradata + kFramesAt);
  const uint64_t samples = frame * std::max<uint64_t>(frames, 1);
  return frame > 0 && frame <= kSamplesMax && samples <= kSamplesMax ? std::optional(static_cast<uint32_t>(samples))
                                                                     : std::nullopt;
}

// ETSI TS 102 366, E.1.2.2: the number of blocks stands behind the code for the rate.
std::optional<uint32_t> samples_of_eac3(std::span<const uint8_t> packet) {
  constexpr size_t kRateAt = 4;
  constexpr uint32_t kBlockSamples = 256;
  constexpr std::array<uint32_t, 4> kBlocks = {1, 2, 3, 6};
  if (packet.size() <= kRateAt || packet[0] != 0x0B || packet[1] != 0x77) return std::nullopt;
  const unsigned rate = packet[kRateAt] >> 6, blocks = packet[kRateAt] >> 4 & 3;
  return kBlockSamples * (rate == 3 ? 6 : kBlocks[blocks]);
}

// ETSI TS 102 114, 5.4.1: the number of blocks of 32 samples stands behind the kind of the frame.
std::optional<uint32_t> samples_of_dts(std::span<const uint8_t> packet) {
  constexpr std::array<uint8_t, 4> kSync = {0x7F, 0xFE, 0x80, 0x01};
  if (packet.size() < 7 || !std::equal(kSync.begin(), kSync.end(), packet.begin())) return std::nullopt;
  const uint32_t head = uint32_t{packet[4]} << 16 | uint32_t{packet[5]} << 8 | packet[6];
  return ((head >> 10 & 0x7F) + 1) * 32;
}

// ETSI TS 102 366, 4.4.1 and 4.4.2, and E.1.2: the rate, and of AC-3 the channels. E-AC-3 may have more channels in
// frames beside.
void tell_of_ac3(std::span<const uint8_t> packet, PacketSound& sound) {
  constexpr std::array<int, 3> kRates_hz = {48'000, 44'100, 32'000};
  constexpr std::array<int, 8> kChannels = {2, 1, 2, 3, 3, 4, 4, 5};
  constexpr unsigned kPlainMax = 8, kAc3Max = 10;  // of the kinds of streams; those between have half of the rates
  if (packet.size() < 8 || packet[0] != 0x0B) return;
  const unsigned kind = packet[5] >> 3, code = packet[4] >> 6, half_code = packet[4] >> 4 & 3;
  if (kind > kAc3Max) {
    const unsigned known = code == 3 ? half_code : code;
    if (known < kRates_hz.size()) sound.rate_hz = kRates_hz[known] >> (code == 3 ? 1 : 0);
    return;
  }
  if (code == 3) return;
  sound.rate_hz = kRates_hz[code] >> (std::max(kind, kPlainMax) - kPlainMax);
  const unsigned mode = packet[6] >> 5, levels = ((mode & 1) != 0 && mode != 1) + ((mode & 4) != 0) + (mode == 2);
  const unsigned rest =
      (packet[6] & 0x1Fu) << 8 | packet[7];  // 13 bits: two for each level, then one for the low channel
  sound.channels = kChannels[mode] + static_cast<int>(rest >> (12 - 2 * levels) & 1);
}

bool begins_ac3(std::span<const uint8_t> packet) {
  return packet.size() > 1 && ((packet[0] == 0x0B && packet[1] == 0x77) || (packet[0] == 0x77 && packet[1] == 0x0B));
}

// ISO/IEC 13818-7, 6.2: whether the header of a frame tells of more bytes. Packets without a header are no such frames.
bool lacks_adts_end(std::span<const uint8_t> packet) {
  constexpr size_t kHeadBytes = 7;
  if (packet.size() < 2 || packet[0] != 0xFF || (packet[1] & 0xF6) != 0xF0) return false;
  return packet.size() < kHeadBytes ||
         packet.size() < ((packet[3] & 3u) << 11 | uint32_t{packet[4]} << 3 | uint32_t{packet[5]} >> 5);
}

// Of Windows Media Audio 1 and 2, as libavcodec's decoder has it. None: it is another codec.
struct WmaStream {
  bool has_reservoir;  // packets begin within frames, and tell how many they end
  uint32_t frame_samples;
};
std::optional<WmaStream> wma_stream_of(const AVCodecParameters& codec) {
  const bool is_first = codec.codec_id == AV_CODEC_ID_WMAV1;
  const int flags_at = is_first ? 2 : 4, rate_hz = codec.sample_rate;
  if ((!is_first && codec.codec_id != AV_CODEC_ID_WMAV2) || codec.extradata_size < flags_at + 2) return std::nullopt;
  const bool is_half = rate_hz <= 22'050 || (rate_hz <= 32'000 && is_first);
  return WmaStream{(AV_RL16(codec.extradata + flags_at) & 2) != 0, rate_hz <= 16'000 ? 512u : is_half ? 1024u : 2048u};
}

}  // namespace

bool is_pcm(AVCodecID codec) { return std::string_view(lib::avcodec_get_name(codec)).starts_with("pcm_"); }

bool is_mpeg_audio(AVCodecID codec) {
  return codec == AV_CODEC_ID_MP1 || codec == AV_CODEC_ID_MP2 || codec == AV_CODEC_ID_MP3;
}

uint32_t wma_frame_samples(const AVCodecParameters& codec) {
  const std::optional<WmaStream> stream = wma_stream_of(codec);
  return stream ? stream->frame_samples : 0;
}

bool shows_frames(AVCodecID codec) {
  return is_mpeg_audio(codec) || codec == AV_CODEC_ID_AC3 || codec == AV_CODEC_ID_EAC3;
}

PacketSamples::PacketSamples(const AVStream& stream) : stream_(stream) {
  const AVCodecParameters& codec = *stream.codecpar;
  if (codec.codec_id == AV_CODEC_ID_VORBIS) vorbis_ = lib::av_vorbis_parse_init(codec.extradata, codec.extradata_size);
}

PacketSamples::~PacketSamples() { lib::av_vorbis_parse_free(&vorbis_); }

// The decoder gives nothing for the first packet, since each block overlaps with the one before it.
std::optional<uint32_t> PacketSamples::of_vorbis(const AVPacket& packet) {
  if (vorbis_ == nullptr) return std::nullopt;
  int flags = 0;
  const int samples = lib::av_vorbis_parse_frame_flags(vorbis_, packet.data, packet.size, &flags);
  if (samples < 0) return std::nullopt;
  if (flags != 0) return 0;  // a header
  const bool is_first = is_first_;
  is_first_ = false;
  return is_first ? 0 : static_cast<uint32_t>(samples);
}

// A packet of Windows Media Audio is one or several blocks. The first block begins the frame that the next one ends.
std::optional<uint32_t> PacketSamples::of_wma(std::span<const uint8_t> packet) {
  const std::optional<WmaStream> stream = wma_stream_of(*stream_.codecpar);
  const auto block = static_cast<size_t>(std::max(stream_.codecpar->block_align, 0));
  if (!stream || block == 0 || packet.size() < block) return std::nullopt;
  uint32_t frames = 0;
  for (size_t at = 0; packet.size() - at >= block; at += block) {
    const uint32_t told = stream->has_reservoir ? packet[at] & 15u : 1u;
    if (stream->has_reservoir && is_first_ && told == 0) return std::nullopt;
    frames += stream->has_reservoir && is_first_ ? told - 1 : told;
    is_first_ = false;
  }
  return frames * stream->frame_samples;
}

std::optional<uint32_t> PacketSamples::of_time(const AVPacket& packet) const {
  const AVRational sample = {1, stream_.codecpar->sample_rate};
  const int64_t samples = lib::av_rescale_q(packet.duration, stream_.time_base, sample);
  const bool is_exact = lib::av_rescale_q(samples, sample, stream_.time_base) == packet.duration;
  if (packet.duration <= 0 || samples <= 0 || samples > kSamplesMax || !is_exact) return std::nullopt;
  return static_cast<uint32_t>(samples);
}

std::optional<PacketSound> PacketSamples::of(const AVPacket& packet) {
  if (is_mpeg_audio(stream_.codecpar->codec_id)) {
    const MpegPacket found = look_at_mpeg_packet({packet.data, static_cast<size_t>(packet.size)});
    return PacketSound{found.samples, found.rate_hz, found.channels, found.is_whole};
  }
  const bool is_frame =
      !shows_frames(stream_.codecpar->codec_id) || begins_ac3({packet.data, static_cast<size_t>(packet.size)});
  const std::optional<uint32_t> samples = is_frame ? samples_of(packet) : 0;
  if (!samples || *samples > kSamplesMax) return std::nullopt;
  if (stream_.codecpar->codec_id == AV_CODEC_ID_AAC && lacks_adts_end({packet.data, static_cast<size_t>(packet.size)}))
    return PacketSound{.samples = *samples, .is_whole = false};
  const bool is_part = stream_.codecpar->block_align > 1 && packet.size % stream_.codecpar->block_align != 0;
  PacketSound sound{.samples = *samples, .is_whole = !is_part && (packet.flags & AV_PKT_FLAG_CORRUPT) == 0};
  if (shows_frames(stream_.codecpar->codec_id)) tell_of_ac3({packet.data, static_cast<size_t>(packet.size)}, sound);
  return sound;
}

std::optional<uint32_t> PacketSamples::samples_of(const AVPacket& packet) {
  const std::span<const uint8_t> bytes(packet.data, static_cast<size_t>(packet.size));
  switch (stream_.codecpar->codec_id) {
    case AV_CODEC_ID_OPUS:
      return samples_of_opus(bytes);
    case AV_CODEC_ID_VORBIS:
      return of_vorbis(packet);
    case AV_CODEC_ID_FLAC:
      return samples_of_flac(bytes);
    case AV_CODEC_ID_APE:
      return samples_of_ape(bytes);
    case AV_CODEC_ID_SPEEX:
      if (const auto samples = samples_of_speex(*stream_.codecpar)) return samples;
      break;
    case AV_CODEC_ID_EAC3:
      return samples_of_eac3(bytes);
    case AV_CODEC_ID_DTS:
      if (const auto samples = samples_of_dts(bytes)) return samples;
      break;
    case AV_CODEC_ID_WMAV1:
    case AV_CODEC_ID_WMAV2:
      return of_wma(bytes);
    case AV_CODEC_ID_TTA:  // the last packet has fewer samples than the others
      return of_time(packet);
    default:
      break;
  }
  if (const auto samples = samples_of_blocks(*stream_.codecpar, static_cast<uint32_t>(bytes.size()))) return samples;
  const int samples = lib::av_get_audio_frame_duration2(stream_.codecpar, packet.size);
  if (samples > 0 && static_cast<uint32_t>(samples) <= kSamplesMax) return static_cast<uint32_t>(samples);
  return of_time(packet);
}

}  // namespace spdld::ffmpeg
