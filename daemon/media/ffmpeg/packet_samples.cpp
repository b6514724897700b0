#include "daemon/media/ffmpeg/packet_samples.h"

#include <array>
#include <span>

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

}  // namespace

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

std::optional<uint32_t> PacketSamples::of_time(const AVPacket& packet) const {
  const AVRational sample = {1, stream_.codecpar->sample_rate};
  const int64_t samples = lib::av_rescale_q(packet.duration, stream_.time_base, sample);
  const bool is_exact = lib::av_rescale_q(samples, sample, stream_.time_base) == packet.duration;
  if (packet.duration <= 0 || samples <= 0 || samples > kSamplesMax || !is_exact) return std::nullopt;
  return static_cast<uint32_t>(samples);
}

std::optional<uint32_t> PacketSamples::of(const AVPacket& packet) {
  const std::span<const uint8_t> bytes(packet.data, static_cast<size_t>(packet.size));
  switch (stream_.codecpar->codec_id) {
    case AV_CODEC_ID_OPUS:
      return samples_of_opus(bytes);
    case AV_CODEC_ID_VORBIS:
      return of_vorbis(packet);
    case AV_CODEC_ID_FLAC:
      return samples_of_flac(bytes);
    default:
      break;
  }
  const int samples = lib::av_get_audio_frame_duration2(stream_.codecpar, packet.size);
  if (samples > 0 && static_cast<uint32_t>(samples) <= kSamplesMax) return static_cast<uint32_t>(samples);
  return of_time(packet);
}

}  // namespace spdld::ffmpeg
