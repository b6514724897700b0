#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spdld::ffmpeg {
namespace {

constexpr size_t kHeaderBytes = 4;

using Rates = std::array<uint16_t, 15>;
// Of MPEG-1 and of its half rates, by layer.
constexpr std::array<std::array<Rates, 3>, 2> kRates_kbps = {
    {{{{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
       {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
       {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}}},
     {{{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
       {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
       {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}}}};

std::string_view chars_in(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint32_t header_in(std::span<const uint8_t> bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

std::span<const uint8_t> without_zeros(std::span<const uint8_t> bytes) {
  const auto first = std::find_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
  return bytes.subspan(static_cast<size_t>(first - bytes.begin()));
}

}  // namespace

std::optional<MpegFrame> mpeg_frame(uint32_t header) {
  constexpr std::array<int, 3> kRates_hz = {44'100, 48'000, 32'000};
  const uint32_t version = header >> 19 & 3, layer_code = header >> 17 & 3, code = header >> 12 & 15;
  const uint32_t rate_code = header >> 10 & 3;
  if (header >> 21 != 0x7FF || version == 1 || layer_code == 0 || code == 15 || rate_code == 3) return std::nullopt;
  const bool is_half = version != 3;  // MPEG-2, and at a quarter of the rates what is called MPEG-2.5
  MpegFrame frame;
  frame.layer = static_cast<int>(4 - layer_code);
  frame.rate_hz = kRates_hz[rate_code] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
  frame.channels = (header >> 6 & 3) == 3 ? 1 : 2;
  frame.samples = frame.layer == 1 ? 384 : frame.layer == 3 && is_half ? 576 : 1152;
  if (code == 0) return frame;
  const uint32_t rate_kbps = kRates_kbps[is_half][static_cast<size_t>(frame.layer - 1)][code];
  const uint32_t padding = header >> 9 & 1, places = frame.samples / 8 * 1000 * rate_kbps;
  const auto rate_hz = static_cast<uint32_t>(frame.rate_hz);
  frame.bytes = frame.layer == 1 ? (places / 4 / rate_hz + padding) * 4 : places / rate_hz + padding;
  return frame;
}

// The decoder goes on behind a frame, and gives up at what is none. It takes "TAG" for a tag to the packet's end.
MpegPacket look_at_mpeg_packet(std::span<const uint8_t> packet) {
  MpegPacket found;
  for (;;) {
    packet = without_zeros(packet);
    if (packet.size() < kHeaderBytes || chars_in(packet).starts_with("TAG")) return found;
    const std::optional<MpegFrame> frame = mpeg_frame(header_in(packet));
    if (!frame || frame->bytes == 0) return found;
    found.samples += frame->samples;
    found.rate_hz = frame->rate_hz;
    found.channels = frame->channels;
    found.is_whole = packet.size() >= frame->bytes;
    packet = packet.subspan(std::min<size_t>(packet.size(), frame->bytes));
  }
}

bool is_known_tag(std::span<const uint8_t> bytes) {
  constexpr std::array<std::string_view, 5> kBegins = {"ID3", "TAG", "<!DOCTYPE", "<html", "<HTML"};
  constexpr std::array<std::string_view, 3> kHolds = {"APETAGEX", "LYRICSBEGIN", "LYRICS200"};
  const std::string_view text = chars_in(without_zeros(bytes));
  return std::any_of(kBegins.begin(), kBegins.end(), [&](auto mark) { return text.starts_with(mark); }) ||
         std::any_of(kHolds.begin(), kHolds.end(), [&](auto mark) { return text.find(mark) != text.npos; });
}

bool is_zeros(std::span<const uint8_t> bytes) { return without_zeros(bytes).empty(); }

// ISO/IEC 11172-3, 2.4.1.7: the number of bytes that lie in frames before stands behind the header and its CRC.
bool needs_no_reservoir(std::span<const uint8_t> packet) {
  constexpr size_t kCrcBytes = 2, kTold = 2;
  packet = without_zeros(packet);
  if (packet.size() < kHeaderBytes + kCrcBytes + kTold) return false;
  const std::optional<MpegFrame> frame = mpeg_frame(header_in(packet));
  if (!frame || frame->layer != 3) return false;
  const size_t at = kHeaderBytes + ((packet[1] & 1) == 0 ? kCrcBytes : 0);
  const bool is_full = (packet[1] & 8) != 0;  // MPEG-1, whose number has 9 bits
  return packet[at] == 0 && (!is_full || packet[at + 1] < 0x80);
}

bool begins_mpeg_file(std::span<const uint8_t> packet) {
  constexpr std::array<std::string_view, 3> kTables = {"Xing", "Info", "VBRI"};
  constexpr std::array<size_t, 4> kPlaces = {36, 21, 13, 36};  // by the frame's kind: MPEG-1 or not, channels
  const std::string_view text = chars_in(packet);
  return std::any_of(kPlaces.begin(), kPlaces.end(), [&](size_t place) {
    return text.size() > place && std::any_of(kTables.begin(), kTables.end(),
                                              [&](auto table) { return text.substr(place).starts_with(table); });
  });
}

size_t id3v2_bytes(std::span<const uint8_t> bytes) {
  constexpr size_t kHead = 10;
  if (bytes.size() < kHead || !chars_in(bytes).starts_with("ID3") || bytes[3] == 0xFF || bytes[4] == 0xFF) return 0;
  size_t size = 0;
  for (const uint8_t byte : bytes.subspan(6, 4)) {
    if (byte >= 0x80) return 0;
    size = size << 7 | byte;
  }
  constexpr uint8_t kHasFooter = 0x10;
  return kHead + size + ((bytes[5] & kHasFooter) != 0 ? kHead : 0);
}

}  // namespace spdld::ffmpeg
