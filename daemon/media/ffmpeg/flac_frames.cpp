#include "daemon/media/ffmpeg/flac_frames.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "daemon/media/ffmpeg/audio_index.h"

namespace spdld::ffmpeg {
namespace {

// RFC 9639, 9.1: a header has at most 4 bytes of fields, 7 of the coded number, 2 of the block's size, 2 of the rate
// and one of CRC-8. One byte of the first subframe follows.
constexpr size_t kHeaderBytesMax = 16, kWindowBytes = kHeaderBytesMax + 1;
using HeaderWindow = std::array<uint8_t, kWindowBytes>;
constexpr size_t kFixedBytes = 4, kNumberBytesMax = 6;  // libavcodec reads no number of 7 bytes
// libavcodec's parser gives up where its buffer is full and holds more than so many bytes for each header in it.
constexpr uint64_t kFrameBytesMax = 20 * 8192;
constexpr size_t kBetweenChecks = 1 << 20;  // bytes from one look at the CPU time to the next

// A CRC's step over each byte, from the highest bit on: tables[k] is for a byte with k bytes behind it.
template <typename Crc, unsigned kPolynomial, size_t kTables>
constexpr auto make_crc_tables() {
  constexpr unsigned kBits = 8 * sizeof(Crc);
  std::array<std::array<Crc, 256>, kTables> tables{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << (kBits - 8);
    for (size_t k = 0; k < kTables; ++k) {
      for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc >> (kBits - 1) & 1) != 0 ? kPolynomial : 0);
      tables[k][i] = static_cast<Crc>(crc);
      crc = tables[k][i];
    }
  }
  return tables;
}
constexpr auto kCrc8 = make_crc_tables<uint8_t, 0x07, 1>();
constexpr auto kCrc16 = make_crc_tables<uint16_t, 0x8005, 16>();

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

// The content of a frame's header. Codes stay as they are written, since a stream's frames have the same ones.
struct FlacHeader {
  bool is_variable = false;
  unsigned rate_code = 0, rate = 0, assignment = 0, size_code = 0;
  size_t number_bytes = 0, bytes = 0;
  uint64_t number = 0;
  uint32_t samples = 0;
  uint8_t subframe = 0;

  int channels() const { return assignment < 8 ? static_cast<int>(assignment) + 1 : 2; }
};

// RFC 9639, 9.1.1; `more` is what stands behind the coded number.
uint32_t samples_of_code(unsigned code, uint32_t more) {
  if (code == 1) return 192;
  if (code <= 5) return 576u << (code - 2);
  return code >= 8 ? 256u << (code - 8) : more + 1;
}

// Reads numbers of the header one behind the other. The header's length is bounded, so that they lie in the window.
class HeaderReader {
 public:
  explicit HeaderReader(const HeaderWindow& window) : window_(window) {}

  uint32_t next(size_t bytes) {
    uint32_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8 | window_[at_++];
    return value;
  }
  // RFC 9639, 9.1.5: as in UTF-8. False: it is no such number.
  bool number(FlacHeader& header) {
    const uint8_t first = window_[at_++];
    const int ones = std::countl_one(first);
    if (ones == 1 || ones == 8) return false;
    header.number_bytes = ones == 0 ? 1 : static_cast<size_t>(ones);
    header.number = first & (0xFFu >> (ones + 1));
    for (size_t i = 1; i < header.number_bytes; ++i) {
      const uint8_t byte = window_[at_++];
      if ((byte & 0xC0) != 0x80) return false;
      header.number = header.number << 6 | (byte & 0x3Fu);
    }
    return true;
  }
  // Whether the byte that follows is the CRC-8 of all before it.
  bool checks() {
    uint8_t crc = 0;
    for (size_t i = 0; i < at_; ++i) crc = kCrc8[0][crc ^ window_[i]];
    return crc == window_[at_++];
  }
  size_t at() const { return at_; }

 private:
  const HeaderWindow& window_;
  size_t at_ = kFixedBytes;
};

// None: no header stands at the window's start. Each header that libavcodec takes for one is told here, and maybe more.
std::optional<FlacHeader> read_header(const HeaderWindow& window) {
  const unsigned block_code = window[2] >> 4, rate_code = window[2] & 15;
  FlacHeader header;
  header.is_variable = (window[1] & 1) != 0;
  header.rate_code = rate_code;
  header.assignment = window[3] >> 4;
  header.size_code = window[3] >> 1 & 7;
  const bool is_reserved = block_code == 0 || rate_code == 15 || header.assignment > 10 || header.size_code == 3;
  if (is_reserved || (window[3] & 1) != 0) return std::nullopt;
  HeaderReader reader(window);
  if (!reader.number(header)) return std::nullopt;
  header.samples = samples_of_code(block_code, block_code == 6 || block_code == 7 ? reader.next(block_code - 5) : 0);
  if (rate_code >= 12) header.rate = reader.next(rate_code == 12 ? 1 : 2);
  if (!reader.checks()) return std::nullopt;
  header.bytes = reader.at();
  header.subframe = window[reader.at()];
  return header;
}

// RFC 9639, 9.1.2; 0: STREAMINFO alone tells it, which confuses libavcodec's parser.
int rate_of(const FlacHeader& header) {
  constexpr std::array kRates_hz = {0,      88'200, 176'400, 192'000, 8000,   16'000,
                                    22'050, 24'000, 32'000,  44'100,  48'000, 96'000};
  if (header.rate_code < kRates_hz.size()) return kRates_hz[header.rate_code];
  const int rate = static_cast<int>(header.rate);
  return header.rate_code == 12 ? rate * 1000 : header.rate_code == 13 ? rate : rate * 10;
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
    for (size_t begin = start_; begin < file_.size(); begin += kBetweenChecks) {
      const size_t end = std::min<size_t>(begin + kBetweenChecks, file_.size());
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
      if ((file_[at + 1] & 0xFE) != 0xF8) continue;
      const std::optional<FlacHeader> header = read_header(window_at(at));
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
  bool add(const FlacHeader& header, size_t at) {
    const bool is_whole = header.bytes < file_.size() - at && header.number_bytes <= kNumberBytesMax;
    if (!is_whole || !is_of_stream(header) || header.number != next_number_) return false;
    if (frames_.empty() ? at != start_ : !close(at) || !is_intact() || !continues(header)) return false;
    if (frames_.empty()) first_ = header;
    if (frames_.size() == kAudioPacketsMax) return false;
    frames_.push_back({.offset = at, .samples = header.samples});
    next_number_ += header.is_variable ? header.samples : 1;
    return true;
  }

  bool is_of_stream(const FlacHeader& header) const {
    constexpr std::array kBits = {0, 8, 12, -1, 16, 20, 24, -1};  // RFC 9639, 9.1.4
    const int rate_hz = rate_of(header), bits = kBits[header.size_code];
    return rate_hz > 0 && rate_hz == stream_.rate_hz && (bits == 0 || bits == stream_.sample_bits) &&
           header.channels() == stream_.channels && begins_subframe(header.subframe);
  }

  // All but the last of blocks with a fixed size are equally long.
  bool continues(const FlacHeader& header) const {
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
  FlacHeader first_;
  uint64_t next_number_ = 0;
};

}  // namespace

std::optional<std::vector<FlacFrame>> find_flac_frames(std::span<const uint8_t> file, uint64_t start,
                                                       const FlacStream& stream, const media::CpuBudget& budget) {
  FrameSearch search(file, start, stream);
  if (!search.run(budget)) return std::nullopt;
  return search.take();
}

}  // namespace spdld::ffmpeg
