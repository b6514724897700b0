#include "daemon/media/ffmpeg/video_stretches.h"

#include <algorithm>

#include "daemon/media/ffmpeg/decoder_pool.h"
#include "daemon/media/ffmpeg/h264_start.h"

namespace spdld::ffmpeg {
namespace {

// Packets of sound lie between the packets of a video: to read them as well is cheaper than one more read.
constexpr uint64_t kVideoGapMax = 64 << 10;

}  // namespace

VideoStretches::VideoStretches(const VideoIndex& index, const ByteParts& file) : index_(index), file_(file) {
  const AVCodecParameters& codec = *index.parameters->codec;
  is_checked_ = codec.codec_id == AV_CODEC_ID_H264;
  length_bytes_ = is_checked_ ? h264_length_bytes({codec.extradata, static_cast<size_t>(codec.extradata_size)}) : 0;
}

bool VideoStretches::is_start(uint32_t packet) const {
  if (!is_checked_) return true;
  const std::span<const uint8_t> data = index_.data_of(index_.packets[packet], file_);
  return data.empty() || is_h264_start(data, length_bytes_);
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
    if (i > given && start_of(wanted[i]) > std::max(stretch.end, stretch.first)) break;
    stretch.end = std::max(stretch.end, index_.frames[wanted[i]].packet + 1);
  }
  return stretch;
}

std::optional<std::vector<uint8_t>> VideoStretches::sets_before(uint32_t packet) const {
  const std::vector<uint8_t> nothing;
  if (!is_checked_ || packet == 0) return nothing;
  const auto data_of = [&](uint32_t number) { return index_.data_of(index_.packets[number], file_); };
  const H264Lead own = h264_lead(data_of(packet), length_bytes_);
  if (own.is_idr || !own.sets.empty()) return nothing;
  if (data_of(0).empty()) return std::nullopt;
  if (h264_lead(data_of(0), length_bytes_).sets.empty()) return nothing;
  for (;;) {
    packet = key_before(packet);
    const std::span<const uint8_t> data = data_of(packet);
    if (data.empty()) return std::nullopt;
    H264Lead lead = h264_lead(data, length_bytes_);
    if (packet == 0 || !lead.sets.empty()) return std::move(lead.sets);
  }
}

// Adds what sets_before() looks at: the file's first packet, and all of a file whose first packet has parameter sets.
void VideoStretches::add_sets(uint32_t packet, std::vector<ByteRange>& ranges) const {
  if (!is_checked_ || packet == 0 || file_.is_whole()) return;
  const std::span<const uint8_t> data = index_.data_of(index_.packets[packet], file_);
  const H264Lead own = h264_lead(data, length_bytes_);
  if (data.empty() || own.is_idr || !own.sets.empty()) return;
  const VideoPacket& first = index_.packets.front();
  if (!first.is_copied) ranges.push_back({first.offset, first.bytes});
  if (!h264_lead(index_.data_of(first, file_), length_bytes_).sets.empty()) ranges.push_back({0, file_.size()});
}

std::vector<ByteRange> VideoStretches::ranges_of(std::span<const uint32_t> wanted) const {
  std::vector<ByteRange> ranges;
  for (size_t given = 0; given < wanted.size();) {
    const Stretch stretch = stretch_of(wanted, given, 0);
    add_sets(stretch.first, ranges);
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
