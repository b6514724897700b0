#include "daemon/media/ffmpeg/libraries/file_format.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"

namespace spdld::ffmpeg {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kDecidingBytes = 2048;  // libavformat's demuxers decide by so many bytes first

std::string_view text_in(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Precondition: the bytes are there.
uint32_t number_in(Bytes bytes, size_t at, size_t count) {
  uint32_t number = 0;
  for (const uint8_t byte : bytes.subspan(at, count)) number = number << 8 | byte;
  return number;
}

// ISO/IEC 14496-12, 4.3: "ftyp" is the first box. Files of JPEG 2000 and of JPEG XL begin with it too, and old ones of
// QuickTime may hold a stream of MPEG.
bool begins_movie(Bytes head) {
  constexpr std::array<std::string_view, 3> kPictures = {"jp2 ", "jpx ", "jxl "};
  constexpr uint32_t kTypeBytesMin = 16, kTypeBytesMax = 1024;
  const std::string_view text = text_in(head);
  if (head.size() < kTypeBytesMin || text.substr(4, 4) != "ftyp") return false;
  const uint32_t bytes = number_in(head, 0, 4);
  return bytes >= kTypeBytesMin && bytes <= kTypeBytesMax &&
         std::find(kPictures.begin(), kPictures.end(), text.substr(8, 4)) == kPictures.end() &&
         text.find("mhlrMPEG") == std::string_view::npos;
}

// RFC 9639, 8.2: STREAMINFO is the first block, and what it tells may be true.
bool begins_flac(Bytes head) {
  constexpr size_t kTold = 21;
  constexpr uint32_t kInfoBytes = 34, kBlockMin = 16, kRateMax_hz = 655'350;
  if (head.size() < kTold || !text_in(head).starts_with("fLaC")) return false;
  const uint32_t block_min = number_in(head, 8, 2), block_max = number_in(head, 10, 2);
  const uint32_t rate_hz = number_in(head, 18, 3) >> 4;
  return (head[4] & 0x7F) == 0 && number_in(head, 5, 3) == kInfoBytes && block_min >= kBlockMin &&
         block_max >= block_min && rate_hz > 0 && rate_hz <= kRateMax_hz;
}

// RFC 3533, 6: version 0, and none but the three flags of a page.
bool begins_ogg(Bytes head) {
  return text_in(head).starts_with(std::string_view("OggS\0", 5)) && head.size() > 5 && head[5] <= 7;
}

// RFC 8794, 8.1: an EBML head of known length that names its kind of document.
bool begins_matroska(Bytes head) {
  constexpr uint32_t kEbml = 0x1A45DFA3;
  if (head.size() < 8 || number_in(head, 0, 4) != kEbml) return false;
  size_t begin = 5, bytes = head[4] & 0x7F;
  if (head[4] == 1) {  // the length has 8 bytes
    if (head.size() < 12 || number_in(head, 5, 4) != 0) return false;
    begin = 12;
    bytes = number_in(head, 9, 3);
  } else if (head[4] < 0x80 || head[4] == 0xFF) {
    return false;
  }
  if (bytes > head.size() - begin) return false;
  const std::string_view content = text_in(head.subspan(begin, bytes));
  return content.find("matroska") != std::string_view::npos || content.find("webm") != std::string_view::npos;
}

// A file of ACT begins as a WAV file does, and has 0x84 behind its first 256 bytes.
bool begins_wav(Bytes head) {
  constexpr size_t kHeaderBytes = 44, kActAt = 256;
  const std::string_view text = text_in(head);
  return head.size() >= kHeaderBytes && text.starts_with("RIFF") && text.substr(8, 4) == "WAVE" &&
         (head.size() <= kActAt || head[kActAt] != 0x84);
}

// libavformat's demuxer of MP3 is sure with so many frames, one behind the other, and the head of one more.
constexpr int kFrames = 7;

bool begins_mp3(Bytes bytes) {
  constexpr uint32_t kSame = 0xFFFE'0C00;  // of the headers: the version, the layer and the rate
  size_t at = 0;
  uint32_t first = 0;
  for (int i = 0; i <= kFrames; ++i) {
    if (at > bytes.size() || bytes.size() - at < 4) return false;
    const uint32_t header = number_in(bytes, at, 4);
    const std::optional<MpegFrame> frame = mpeg_frame(header);
    if (i == 0) first = header;
    if (!frame || frame->layer != 3 || frame->bytes == 0 || (header & kSame) != (first & kSame)) return false;
    at += frame->bytes;
  }
  return true;
}

// ISO/IEC 13818-7, 6.2: frames of AAC with their headers, one behind the other.
bool begins_adts(Bytes bytes) {
  constexpr uint32_t kSync = 0xFFF0'0000, kSyncBits = 0xFFF6'0000, kSame = 0xFFFF'FDC0;
  constexpr size_t kHead = 7;
  size_t at = 0;
  uint32_t first = 0;
  for (int i = 0; i <= kFrames; ++i) {
    if (at > bytes.size() || bytes.size() - at < kHead) return false;
    const uint32_t header = number_in(bytes, at, 4), frame_bytes = number_in(bytes, at + 3, 3) >> 5 & 0x1FFF;
    if (i == 0) first = header;
    if ((header & kSyncBits) != kSync || frame_bytes < kHead || (header & kSame) != (first & kSame)) return false;
    at += frame_bytes;
  }
  return true;
}

// libavformat looks at no more than a megabyte of a file, and pictures in tags may be larger.
const char* format_behind_tags(Bytes bytes) {
  while (const size_t tag = id3v2_bytes(bytes)) {
    if (tag >= bytes.size()) return nullptr;
    bytes = bytes.subspan(tag);
  }
  if (begins_flac(bytes)) return "flac";
  return begins_mp3(bytes) ? "mp3" : begins_adts(bytes) ? "aac" : nullptr;
}

}  // namespace

const char* format_told_by(std::span<const uint8_t> bytes) {
  const Bytes head = bytes.first(std::min(kDecidingBytes, bytes.size()));
  if (begins_movie(head)) return "mov";
  if (begins_flac(head)) return "flac";
  if (begins_ogg(head)) return "ogg";
  if (begins_matroska(head)) return "matroska";
  if (begins_wav(head)) return "wav";
  if (id3v2_bytes(bytes) > 0) return format_behind_tags(bytes);
  return begins_mp3(bytes) ? "mp3" : nullptr;
}

}  // namespace spdld::ffmpeg
