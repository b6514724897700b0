#include "daemon/media/flac/frame_decoder.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/flac/frame_header.h"
#include "daemon/media/flac/subframes.h"

namespace spdld::flac {
namespace {

constexpr size_t kStreamInfoBytes = 34;
constexpr size_t kFrameBytesMin = 12;  // libavcodec gives nothing for a frame of less than about so many
constexpr uint32_t kBlockMin = 16;     // libavcodec takes no STREAMINFO with less as the longest block

uint64_t number_in(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint64_t number = 0;
  for (size_t i = at; i < at + count; ++i) number = number << 8 | bytes[i];
  return number;
}

bool is_known(int sample_bits) { return sample_bits >= 8 && sample_bits <= 24 && sample_bits % 4 == 0; }

// Whether libavcodec, which knows the stream as it is told here, takes the header as no change of it.
bool is_of_stream(const FrameHeader& header, const Stream& stream) {
  const int bits = header.sample_bits();
  return header.number_bytes <= kNumberBytesMax && header.channels() == stream.channels &&
         (bits == 0 || bits == stream.sample_bits) && (header.rate_code == 0 || header.rate_hz() == stream.rate_hz) &&
         header.samples <= stream.block_max;
}

}  // namespace

std::optional<Stream> read_stream_info(std::span<const uint8_t> header) {
  constexpr char kMark[] = "fLaC";
  constexpr size_t kMarkBytes = 4, kBeforeInfo = kMarkBytes + 4;
  if (header.size() >= kBeforeInfo + kStreamInfoBytes && std::memcmp(header.data(), kMark, kMarkBytes) == 0)
    header = header.subspan(kBeforeInfo);
  else if (header.size() != kStreamInfoBytes)
    return std::nullopt;
  const uint64_t told = number_in(header, 10, 8);  // 20 bits of the rate, 3 of the channels, 5 of the samples' bits
  const Stream stream{static_cast<int>(told >> 44), static_cast<int>(told >> 41 & 7) + 1,
                      static_cast<int>(told >> 36 & 31) + 1, static_cast<uint32_t>(number_in(header, 2, 2))};
  if (stream.rate_hz == 0 || !is_known(stream.sample_bits) || stream.block_max < kBlockMin) return std::nullopt;
  return stream;
}

bool FrameDecoder::decode(std::span<const uint8_t> frame, const Stream& stream) {
  planes_.samples = 0;
  if (frame.size() < kFrameBytesMin || !begins_frame(frame[0], frame[1])) return false;
  HeaderWindow window;
  static_assert(kFrameBytesMin + kPaddingBytes >= kWindowBytes);
  std::copy_n(frame.data(), window.size(), window.data());
  const std::optional<FrameHeader> header = read_header(window);
  if (!header || header->bytes >= frame.size() || !is_of_stream(*header, stream)) return false;
  const size_t numbers = size_t{header->samples} * static_cast<size_t>(stream.channels);
  if (memory_.size() < numbers) memory_.resize(numbers);
  Planes planes{memory_.data(), header->samples, stream.channels, stream.sample_bits, Stereo::kNone};
  if (header->assignment >= 8) planes.stereo = static_cast<Stereo>(header->assignment - 7);
  if (!decode_subframes(frame.subspan(header->bytes), planes) || !are_channels_within(planes)) return false;
  planes_ = planes;
  return true;
}

void FrameDecoder::channel(int channel, size_t at, size_t count, float* to) const {
  convert_channel(planes_, channel, at, count, to);
}

void FrameDecoder::pair_mean(size_t at, size_t count, float* to) const { convert_pair_mean(planes_, at, count, to); }

void FrameDecoder::shrink(size_t bytes_max) {
  if (memory_.capacity() * sizeof(int32_t) <= bytes_max) return;
  memory_ = {};
  planes_ = {};
}

}  // namespace spdld::flac
