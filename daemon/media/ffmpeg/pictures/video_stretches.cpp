#include "daemon/media/ffmpeg/pictures/video_stretches.h"

#include <algorithm>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/packets/h264_start.h"
#include "daemon/media/ffmpeg/packets/parameter_sets.h"

namespace spdld::ffmpeg {
namespace {

// Packets of sound lie between the packets of a video: to read them as well is cheaper than one more read.
constexpr uint64_t kVideoGapMax = 64 << 10;

std::optional<UnitCodec> unit_codec_of(const VideoIndex& index) {
  switch (index.parameters->codec->codec_id) {
    case AV_CODEC_ID_H264:
      return UnitCodec::kH264;
    case AV_CODEC_ID_HEVC:
      return UnitCodec::kHevc;
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
      return UnitCodec::kMpeg;
    default:
      return std::nullopt;
  }
}

}  // namespace

VideoStretches::VideoStretches(const VideoIndex& index, const ByteParts& file)
    : index_(index), file_(file), codec_(unit_codec_of(index)) {}

size_t VideoStretches::length_bytes(uint32_t packet) const {
  const std::span<const uint8_t> header = index_.changes.at(kHeader, packet);
  const AVCodecParameters& codec = *index_.parameters->codec;
  return unit_length_bytes(
      *codec_, header.empty() ? std::span(codec.extradata, static_cast<size_t>(codec.extradata_size)) : header);
}

bool VideoStretches::is_start(uint32_t packet) const {
  if (codec_ != UnitCodec::kH264) return true;
  const std::span<const uint8_t> data = index_.data_of(index_.packets[packet], file_);
  return data.empty() || is_h264_start(data, length_bytes(packet));
}

std::vector<uint8_t> VideoStretches::own_sets(uint32_t packet) const {
  if (!codec_) return {};
  return parameter_sets(*codec_, index_.data_of(index_.packets[packet], file_), length_bytes(packet));
}

uint32_t VideoStretches::key_before(uint32_t packet) const {
  if (packet == 0) return 0;
  do --packet;
  while (packet > 0 && !index_.packets[packet].is_key);
  return packet;
}

uint32_t VideoStretches::start_of(uint32_t frame) const {
  uint32_t start = index_.start_of(frame);
  while (start > 0 && !is_start(start)) start = key_before(start);
  return start;
}

VideoStretches::Stretch VideoStretches::stretch_of(std::span<const uint32_t> wanted, size_t given,
                                                   uint32_t earlier) const {
  Stretch stretch{start_of(wanted[given]), 0};
  for (; earlier > 0 && stretch.first > 0; --earlier) stretch.first = key_before(stretch.first);
  if (index_.is_untimed) {
    stretch.end = static_cast<uint32_t>(index_.packets.size());
    return stretch;
  }
  for (size_t i = given; i < wanted.size(); ++i) {
    if (i > given) {
      const uint32_t start = start_of(wanted[i]);
      if (start > std::max(stretch.end, stretch.first) || is_changed(stretch.first, start)) break;
    }
    stretch.end = std::max(stretch.end, index_.frames[wanted[i]].packet + 1);
  }
  return stretch;
}

// Whether a decoder that began at `first` may not know what counts at `start`. Not every decoder takes another header
// on the way, and FFmpeg's of MPEG-2 overlooks that the sampling of chroma changes.
bool VideoStretches::is_changed(uint32_t first, uint32_t start) const {
  if (header_begin(start) > first) return true;
  if (codec_ != UnitCodec::kMpeg || start == first) return false;
  const std::vector<uint8_t> sets = own_sets(start);
  return !sets.empty() && sets != own_sets(first);
}

// Whether sets that earlier packets brought count for a stretch that begins with this packet.
bool VideoStretches::needs_sets(uint32_t packet) const {
  return index_.has_sets && packet > header_begin(packet) && own_sets(packet).empty();
}

std::optional<std::vector<uint8_t>> VideoStretches::sets_before(uint32_t packet) const {
  if (!needs_sets(packet)) return std::vector<uint8_t>();
  for (const uint32_t begin = header_begin(packet);;) {
    packet = std::max(key_before(packet), begin);
    if (index_.data_of(index_.packets[packet], file_).empty()) return std::nullopt;
    std::vector<uint8_t> sets = own_sets(packet);
    if (packet == begin || !sets.empty()) return sets;
  }
}

std::vector<ByteRange> VideoStretches::ranges_of(std::span<const uint32_t> wanted) const {
  std::vector<ByteRange> ranges;
  for (size_t given = 0; given < wanted.size();) {
    const Stretch stretch = stretch_of(wanted, given, 0);
    // sets_before() looks at these packets.
    const bool is_there = !index_.data_of(index_.packets[stretch.first], file_).empty();
    if (is_there && needs_sets(stretch.first)) ranges.push_back({0, file_.size()});
    for (uint32_t i = stretch.first; i < stretch.end; ++i) {
      const VideoPacket& packet = index_.packets[i];
      if (!packet.is_copied) ranges.push_back({packet.offset, packet.bytes});
    }
    const size_t before = given;
    while (given < wanted.size() && (given == before || index_.frames[wanted[given]].packet < stretch.end)) ++given;
  }
  join_ranges(ranges, kVideoGapMax);
  return ranges;
}

}  // namespace spdld::ffmpeg
