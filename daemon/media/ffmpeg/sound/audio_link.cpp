#include "daemon/media/ffmpeg/sound/audio_link.h"

#include <algorithm>
#include <utility>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/sound/packet_samples.h"

namespace spdld::ffmpeg {
namespace {

// A frame of MP3 may begin so many bytes before its own packet; a packet's head holds no such bytes.
constexpr uint64_t kReservoirBytes = 511, kMp3HeadBytes = 38;

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

bool is_independent(AVCodecID codec) {
  return is_pcm(codec) || codec == AV_CODEC_ID_FLAC || codec == AV_CODEC_ID_ALAC || codec == AV_CODEC_ID_WAVPACK ||
         codec == AV_CODEC_ID_TTA || codec == AV_CODEC_ID_APE;
}

}  // namespace

AudioLink::AudioLink() = default;
AudioLink::~AudioLink() = default;
AudioLink::AudioLink(AudioLink&&) noexcept = default;
AudioLink& AudioLink::operator=(AudioLink&&) noexcept = default;

void AudioLink::append(const AudioLink& link) {
  for (AudioPacket packet : link.packets) {
    if (packet.is_copied) packet.offset += copied.size();
    packet.first += samples;
    packets.push_back(packet);
  }
  copied.insert(copied.end(), link.copied.begin(), link.copied.end());
  samples += link.samples;
  delay += link.delay;
  padding += link.padding;
  preroll = std::max(preroll, link.preroll);
}

size_t AudioLink::packet_of(uint64_t sample) const {
  const auto behind = std::upper_bound(packets.begin(), packets.end(), sample,
                                       [](uint64_t at, const AudioPacket& packet) { return at < packet.first; });
  // Packets that give no samples lie at the same number as the packet behind them.
  return static_cast<size_t>(behind - packets.begin()) - 1;
}

bool AudioLink::depends_on_start() const { return parameters->codec->codec_id == AV_CODEC_ID_AAC; }

bool AudioLink::needs_first_packet() const { return has_sbr(*parameters->codec); }

size_t AudioLink::start_of(size_t packet) const {
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
      return is_mpeg_float(*parameters->decoder) ? back(3) : 0;
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

std::vector<ByteRange> AudioLink::ranges_of(uint64_t first, uint64_t count) const {
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

void join_damaged_links(std::vector<AudioLink>& links) {
  constexpr size_t kFramesMin = 4;
  std::vector<AudioLink> joined;
  for (AudioLink& link : links) {
    const bool is_damaged = link.packets.size() < kFramesMin;
    if (!joined.empty() && (is_damaged || joined.back().rate_hz == link.rate_hz))
      joined.back().append(link);
    else
      joined.push_back(std::move(link));
  }
  links = std::move(joined);
}

std::span<const uint8_t> AudioLink::data_of(const AudioPacket& packet, const ByteParts& file) const {
  return packet.is_copied ? ByteParts(copied).at(packet.offset, packet.bytes) : file.at(packet.offset, packet.bytes);
}

}  // namespace spdld::ffmpeg
