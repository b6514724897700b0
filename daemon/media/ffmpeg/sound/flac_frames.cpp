#include "daemon/media/ffmpeg/sound/flac_frames.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "daemon/media/flac/crc.h"
#include "daemon/media/flac/frame_header.h"

namespace spdld::ffmpeg {
namespace {

using flac::FrameHeader;
using flac::HeaderWindow;
using flac::kNumberBytesMax;
using flac::kWindowBytes;

// libavcodec's parser gives up where its buffer is full and holds more than so many bytes for each header in it.
constexpr uint64_t kFrameBytesMax = 20 * 8192;
constexpr size_t kBytesBetweenChecks = 1 << 20;  // bytes from one look at the CPU time to the next

constexpr auto kCrc16 = flac::make_crc_tables<uint16_t, 0x8005, 16>();

// RFC 9639, 9.3: 0 for a frame with the CRC at its end. Sixteen bytes at once.
unsigned crc16_of(std::span<const uint8_t> bytes) {
  constexpr size_t kAtOnce = kCrc16.size();
  unsigned crc = 0;
  size_t at = 0;
  for (; at + kAtOnce <= bytes.size(); at += kAtOnce) {
    const uint8_t* const part = bytes.data() + at;
    const unsigned rest = [part]<size_t... k>(std::index_sequence<k...>) {
      return (kCrc16[kAtOnce - 3 - k][part[k + 2]] ^ ...);
    }
    (std::make_index_sequence<kAtOnce - 2>());  // does not wait for the bytes before
    crc = kCrc16[15][part[0] ^ crc >> 8] ^ (kCrc16[14][part[1] ^ (crc & 0xFF)] ^ rest);
  }
  for (; at < bytes.size(); ++at) crc = (crc << 8 & 0xFFFF) ^ kCrc16[0][crc >> 8 ^ bytes[at]];
  return crc;
}

// Whether a subframe may begin so (RFC 9639, 9.2.1): libavcodec's parser takes no header without it.
bool begins_subframe(uint8_t byte) {
  const unsigned type = byte >> 1;  // with the bit before it, which is 0
  return type < 2 || (type >= 8 && type <= 12) || (type >= 32 && type < 64);
}

class FrameSearch {
 public:
  FrameSearch(std::span<const uint8_t> file, uint64_t start, const FlacStream& stream)
      : file_(file), start_(start), stream_(stream) {}

  bool run(const media::CpuBudget& budget) {
    for (size_t begin = start_; begin < file_.size(); begin += kBytesBetweenChecks) {
      const size_t end = std::min<size_t>(begin + kBytesBetweenChecks, file_.size());
      if (budget.is_spent() || !search(begin, end) || frames_.empty() || !close(end)) return false;
    }
    return !frames_.empty();
  }
  std::vector<FlacFrame> take() { return std::move(frames_); }

 private:
  // Takes the headers that begin in this part. Every byte is looked at, as libavcodec's parser does: STREAMINFO may lie
  // about how long a frame is at least.
  bool search(size_t begin, size_t end) {
    end = std::min(end, file_.size() - 1);  // the file's last byte begins no header
    for (size_t at = begin; at < end; ++at) {
      const void* const found = std::memchr(file_.data() + at, 0xFF, end - at);
      if (found == nullptr) return true;
      at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file_.data());
      if (!flac::begins_frame(file_[at], file_[at + 1])) continue;
      const std::optional<FrameHeader> header = flac::read_header(window_at(at));
      if (header && !add(*header, at)) return false;
    }
    return true;
  }

  // Behind the file's end it has zeros, as libavcodec's parser does.
  HeaderWindow window_at(size_t at) const {
    HeaderWindow window{};
    std::memcpy(window.data(), file_.data() + at, std::min(kWindowBytes, file_.size() - at));
    return window;
  }

  // False: it is no continuation of the frames before it.
  bool add(const FrameHeader& header, size_t at) {
    const bool is_whole = header.bytes < file_.size() - at && header.number_bytes <= kNumberBytesMax;
    if (!is_whole || !is_of_stream(header) || header.number != next_number_) return false;
    if (frames_.empty() ? at != start_ : !close(at) || !is_intact() || !continues(header)) return false;
    if (frames_.empty()) first_ = header;
    if (frames_.size() == kAudioPacketsMax) return false;
    frames_.push_back({.offset = at, .samples = header.samples});
    next_number_ += header.is_variable ? header.samples : 1;
    return true;
  }

  bool is_of_stream(const FrameHeader& header) const {
    const int rate_hz = header.rate_hz(), bits = header.sample_bits();
    return rate_hz > 0 && rate_hz == stream_.rate_hz && (bits == 0 || bits == stream_.sample_bits) &&
           header.channels() == stream_.channels && begins_subframe(header.subframe);
  }

  // All but the last of blocks with a fixed size are equally long.
  bool continues(const FrameHeader& header) const {
    return header.is_variable == first_.is_variable && header.rate_code == first_.rate_code &&
           header.size_code == first_.size_code && (header.is_variable || frames_.back().samples == first_.samples);
  }

  // The last frame ends here. False: it would be longer than frames are.
  bool close(uint64_t end) {
    FlacFrame& last = frames_.back();
    if (end - last.offset > kFrameBytesMax) return false;
    last.bytes = static_cast<uint32_t>(end - last.offset);
    return true;
  }

  // libavcodec's parser puts a frame whose CRC is wrong and the one behind it into one packet. Not so the last frame.
  bool is_intact() const { return crc16_of(file_.subspan(frames_.back().offset, frames_.back().bytes)) == 0; }

  const std::span<const uint8_t> file_;
  const uint64_t start_;
  const FlacStream stream_;
  std::vector<FlacFrame> frames_;
  FrameHeader first_;
  uint64_t next_number_ = 0;
};

}  // namespace

bool is_intact_flac(std::span<const uint8_t> frame) { return crc16_of(frame) == 0; }

std::optional<std::vector<FlacFrame>> find_flac_frames(std::span<const uint8_t> file, uint64_t start,
                                                       const FlacStream& stream, const media::CpuBudget& budget) {
  FrameSearch search(file, start, stream);
  if (!search.run(budget)) return std::nullopt;
  return search.take();
}

}  // namespace spdld::ffmpeg
