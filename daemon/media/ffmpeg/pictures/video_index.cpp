#include "daemon/media/ffmpeg/pictures/video_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/packets/h264_fields.h"

namespace spdld::ffmpeg {
namespace {

// A VP8 frame that only later frames refer to: the encoder's "altref" (RFC 6386, 9.1).
bool is_hidden(AVCodecID codec, const AVPacket& packet) {
  return codec == AV_CODEC_ID_VP8 && packet.size > 0 && (packet.data[0] >> 4 & 1) == 0;
}

// The decoder needs what the header did not tell.
bool has_parameters(const AVCodecParameters& stream) {
  if (stream.width <= 0 || stream.height <= 0 || stream.codec_id == AV_CODEC_ID_NONE) return false;
  const bool is_described = stream.codec_id == AV_CODEC_ID_H264 || stream.codec_id == AV_CODEC_ID_HEVC ||
                            stream.codec_id == AV_CODEC_ID_MPEG4;
  return !is_described || stream.extradata_size > 0;
}

int turn_of(const AVStream& stream) {
  size_t bytes = 0;
  const uint8_t* const matrix = lib::av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &bytes);
  if (matrix == nullptr || bytes < 9 * sizeof(int32_t)) return 0;
  int32_t values[9];
  std::memcpy(values, matrix, sizeof values);
  const double counterclockwise = lib::av_display_rotation_get(values);
  if (std::isnan(counterclockwise)) return 0;
  const int quarters = static_cast<int>(std::lround(-counterclockwise / 90)) % 4;
  return (quarters + 4) % 4 * 90;
}

// Containers name a coding by four characters.
std::string unknown_coding(uint32_t tag) {
  std::string name;
  for (; tag != 0; tag >>= 8) name += static_cast<char>(tag & 0xff);
  const auto is_printed = [](char c) { return c >= ' ' && c <= '~'; };
  if (name.size() != 4 || !std::all_of(name.begin(), name.end(), is_printed))
    return "the file does not say how its video is coded";
  return "the video is coded as \"" + name + "\", which FFmpeg's libraries do not know";
}

bool may_be_meant(int64_t width, int64_t height) {
  constexpr int64_t kPixelsMost = 178'956'970;
  return width > 0 && height > 0 && width * height <= kPixelsMost;
}

class Indexer {
 public:
  Indexer(const ByteParts& file, const media::DecodeLimits& limits) : input_(file, limits) {}

  Result<VideoIndex> run() {
    if (const Status opened = input_.open(); !opened) return opened.error();
    if (const Status chosen = choose(); !chosen) return chosen.error();
    if (const Status ready = input_.begin_packets(stream_->codecpar->codec_id); !ready) return ready.error();
    if (const Status read = read_packets(); !read) return read.error();
    number_frames();
    if (index_.frames.empty()) return Error{Trouble::kContent, "the video has no frames"};
    return std::move(index_);
  }

  const Input& input() const { return input_; }

 private:
  Status choose() {
    stream_ = input_.choose(AVMEDIA_TYPE_VIDEO);
    if (stream_ == nullptr) {  // some containers tell their streams only as they go
      if (const Status found = input_.find_parameters(); !found) return found;
      stream_ = input_.choose(AVMEDIA_TYPE_VIDEO);
    }
    if (stream_ == nullptr) return Error{Trouble::kContent, "the file holds no video"};
    if (!has_parameters(*stream_->codecpar)) {
      if (const Status found = input_.find_parameters(); !found) return found;
    }
    const AVCodecParameters& codec = *stream_->codecpar;
    if (codec.codec_id == AV_CODEC_ID_NONE) return Error{Trouble::kContent, unknown_coding(codec.codec_tag)};
    auto parameters = decoder_parameters(codec, "video");
    if (!parameters) return parameters.error();
    index_.parameters = std::move(*parameters);
    // Decoders are not opened with a size that can't be meant.
    AVCodecParameters& kept = *index_.parameters->codec;
    if (!may_be_meant(codec.width, codec.height)) kept.width = kept.height = 0;
    index_.picture = {kept.width, kept.height};
    index_.sample_aspect = {stream_->sample_aspect_ratio.num, stream_->sample_aspect_ratio.den};
    index_.turn = turn_of(*stream_);
    header_ = {kept.extradata, static_cast<size_t>(kept.extradata_size)};
    if (codec.codec_id == AV_CODEC_ID_H264) index_.may_be_interlaced = h264_may_have_fields(header_);
    index_.tick_s = av_q2d(stream_->time_base);
    return Done{};
  }

  // A file whose end is missing has the frames that are there, as players show them.
  Status read_packets() {
    const PacketHandle packet(allocated(lib::av_packet_alloc()));
    for (;;) {
      const Result<bool> read = input_.read(*packet);
      if (!read) {
        if (index_.packets.empty() || input_.is_spent() || read.error().trouble == Trouble::kUnread)
          return read.error();
        return Done{};
      }
      if (!*read) return Done{};
      if (packet->size <= 0) continue;
      // Common Encryption (ISO/IEC 23001-7) leaves the container readable.
      if (!side(*packet, AV_PKT_DATA_ENCRYPTION_INFO).empty())
        return Error{Trouble::kContent, "the video is encrypted, and spdld has no keys: decrypt it before"};
      if (index_.packets.size() == kPacketsMax)
        return Error{Trouble::kContent, "the video has more than " + std::to_string(kPacketsMax) + " packets"};
      add(*packet);
      if (!has_room_)
        return Error{Trouble::kContent, "the video changes its header or its palette too often: spdld keeps " +
                                            std::to_string(StreamChanges::kBytesMax >> 20) + " MiB of them"};
    }
  }

  static std::span<const uint8_t> side(const AVPacket& packet, AVPacketSideDataType type) {
    size_t bytes = 0;
    const uint8_t* const data = lib::av_packet_get_side_data(&packet, type, &bytes);
    return {data, data == nullptr ? 0 : bytes};
  }

  void add_changes(const AVPacket& packet, uint32_t number) {
    StreamChanges& changes = index_.changes;
    const std::span<const uint8_t> header = side(packet, AV_PKT_DATA_NEW_EXTRADATA);
    const bool is_first = changes.at(ChangeKind::kHeader, number).empty();
    if (!header.empty() && !(is_first && std::ranges::equal(header, header_))) {
      has_room_ = changes.add(ChangeKind::kHeader, number, header);
      if (stream_->codecpar->codec_id == AV_CODEC_ID_H264) index_.may_be_interlaced |= h264_may_have_fields(header);
    }
    has_room_ = changes.add(ChangeKind::kPalette, number, side(packet, AV_PKT_DATA_PALETTE)) && has_room_;
  }

  void add(const AVPacket& packet) {
    VideoPacket kept;
    kept.bytes = static_cast<uint32_t>(packet.size);
    kept.is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    kept.is_discarded = (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
    const PacketPlace place = input_.place_of(packet, index_.copied);
    kept.offset = place.offset;
    kept.is_copied = place.is_copied;
    const bool is_timed = packet.pts != AV_NOPTS_VALUE;
    kept.time = is_timed ? packet.pts : 0;
    const auto number = static_cast<uint32_t>(index_.packets.size());
    index_.packets.push_back(kept);
    add_changes(packet, number);
    if (kept.is_discarded || is_hidden(stream_->codecpar->codec_id, packet)) return;
    index_.is_untimed |= !is_timed;
    index_.frames.push_back({kept.time, packet.duration, number});
  }

  // Without times, decoders are asked from the first packet on, and number the frames as they come.
  void number_frames() {
    auto& frames = index_.frames;
    if (!index_.is_untimed) {
      std::stable_sort(frames.begin(), frames.end(),
                       [](const VideoFrameTime& a, const VideoFrameTime& b) { return a.time < b.time; });
    } else {
      time_evenly();
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      index_.packets[frames[i].packet].frame = static_cast<uint32_t>(i);
      if (i + 1 < frames.size()) frames[i].duration = frames[i + 1].time - frames[i].time;
    }
    index_.reordered = reordered();
  }

  void time_evenly() {
    const AVRational rate = lib::av_guess_frame_rate(&input_.context(), stream_, nullptr);
    index_.tick_s = rate.num > 0 && rate.den > 0 ? av_q2d(av_inv_q(rate)) : 1.0 / 25;
    for (size_t i = 0; i < index_.frames.size(); ++i) {
      index_.frames[i].time = static_cast<int64_t>(i);
      index_.frames[i].duration = 1;
    }
  }

  // Of each frame, those before it in the order of decoding that are shown behind it; the most of them.
  int reordered() const {
    std::vector<uint32_t> waiting;  // shown behind a later packet's frame; sorted
    size_t most = 0;
    for (const VideoPacket& packet : index_.packets) {
      if (packet.frame == kNoFrame) continue;
      const auto behind = std::upper_bound(waiting.begin(), waiting.end(), packet.frame);
      most = std::max(most, static_cast<size_t>(waiting.end() - behind));
      waiting.insert(behind, packet.frame);
      if (waiting.size() > kReorderedMax + 1) waiting.erase(waiting.begin());
    }
    return static_cast<int>(std::min(most, kReorderedMax));
  }

  static constexpr size_t kReorderedMax = 16;  // of H.264 and HEVC

  Input input_;
  AVStream* stream_ = nullptr;
  std::span<const uint8_t> header_;  // as the container begins
  bool has_room_ = true;             // for what packets bring beside their data
  VideoIndex index_;
};

}  // namespace

VideoIndex::VideoIndex() = default;
VideoIndex::~VideoIndex() = default;
VideoIndex::VideoIndex(VideoIndex&&) noexcept = default;
VideoIndex& VideoIndex::operator=(VideoIndex&&) noexcept = default;

double VideoIndex::duration_s() const {
  return static_cast<double>(frames.back().time + frames.back().duration - frames.front().time) * tick_s;
}

uint32_t VideoIndex::start_of(size_t frame) const {
  if (is_untimed) return 0;
  uint32_t start = frames[frame].packet;
  while (start > 0) {
    const VideoPacket& packet = packets[start];
    if (packet.is_key && packet.time <= frames[frame].time) break;
    --start;
  }
  return start;
}

std::span<const uint8_t> VideoIndex::data_of(const VideoPacket& packet, const ByteParts& file) const {
  return packet.is_copied ? ByteParts(copied).at(packet.offset, packet.bytes) : file.at(packet.offset, packet.bytes);
}

Result<VideoIndex> index_packets(const ByteParts& file, const media::DecodeLimits& limits,
                                 std::vector<ByteRange>* unread) {
  Indexer indexer(file, limits);
  Result<VideoIndex> index = indexer.run();
  if (!index && index.error().trouble == Trouble::kUnread && unread != nullptr) *unread = indexer.input().unread();
  return index;
}

}  // namespace spdld::ffmpeg
