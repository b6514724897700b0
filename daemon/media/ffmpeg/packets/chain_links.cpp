#include "daemon/media/ffmpeg/packets/chain_links.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "daemon/media/ffmpeg/libraries/mpeg_audio.h"

namespace spdld::ffmpeg {
namespace {

using Bytes = std::span<const uint8_t>;

bool stands_at(Bytes bytes, size_t at, std::string_view text) {
  return at <= bytes.size() && bytes.size() - at >= text.size() &&
         std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

// The file's end where the text does not follow.
size_t find_text(Bytes bytes, size_t from, std::string_view text) {
  if (from >= bytes.size()) return bytes.size();
  const void* const found = ::memmem(bytes.data() + from, bytes.size() - from, text.data(), text.size());
  return found == nullptr ? bytes.size() : static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
}

std::vector<ByteRange> ranges_from(const std::vector<size_t>& begins, size_t end) {
  std::vector<ByteRange> ranges;
  if (begins.size() < 2) return ranges;
  for (size_t i = 0; i < begins.size(); ++i)
    ranges.push_back({begins[i], (i + 1 < begins.size() ? begins[i + 1] : end) - begins[i]});
  return ranges;
}

// RFC 9639, 8: behind the blocks of metadata; the file's end where they are damaged.
size_t frames_of_flac(Bytes file, size_t at) {
  constexpr size_t kMarkBytes = 4, kHeadBytes = 4;
  for (at += kMarkBytes; file.size() - at >= kHeadBytes;) {
    const size_t bytes = size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    const bool is_last = (file[at] & 0x80) != 0;
    if (bytes > file.size() - at - kHeadBytes) break;
    at += kHeadBytes + bytes;
    if (is_last) return at;
  }
  return file.size();
}

bool begins_flac_at(Bytes file, size_t at) {
  using std::string_view_literals::operator""sv;
  return stands_at(file, at, "fLaC\0\0\0\x22"sv) || stands_at(file, at, "fLaC\x80\0\0\x22"sv);
}

}  // namespace

std::vector<ByteRange> ogg_links(Bytes file) {
  constexpr std::string_view kPage = "OggS";
  constexpr size_t kHeadBytes = 27, kKindAt = 5, kSegmentsAt = 26;
  constexpr uint8_t kBegins = 2;  // a stream
  if (!stands_at(file, 0, kPage)) return {};
  std::vector<size_t> begins = {0};
  bool has_content = false;  // behind the pages with which a link's streams begin
  for (size_t at = 0; file.size() - at > kHeadBytes;) {
    if (!stands_at(file, at, kPage)) {
      at = find_text(file, at, kPage);
      continue;
    }
    const bool is_begin = (file[at + kKindAt] & kBegins) != 0;
    if (is_begin && has_content) begins.push_back(at);
    has_content = !is_begin;
    const size_t segments = file[at + kSegmentsAt];
    if (segments > file.size() - at - kHeadBytes) break;
    size_t bytes = kHeadBytes + segments;
    for (const uint8_t segment : file.subspan(at + kHeadBytes, segments)) bytes += segment;
    at += std::min(bytes, file.size() - at);
  }
  return ranges_from(begins, file.size());
}

std::vector<ByteRange> joined_flacs(Bytes file) {
  size_t at = 0;
  while (at < file.size()) {
    const size_t tag = id3v2_bytes(file.subspan(at));
    if (tag == 0 || tag > file.size() - at) break;
    at += tag;
  }
  if (!begins_flac_at(file, at)) return {};
  std::vector<size_t> begins = {at};
  for (size_t from = frames_of_flac(file, at); from < file.size();) {
    at = find_text(file, from, "fLaC");
    from = at + 1;
    if (!begins_flac_at(file, at)) continue;
    begins.push_back(at);
    from = frames_of_flac(file, at);
  }
  std::vector<ByteRange> ranges = ranges_from(begins, file.size());
  // A tag belongs to the file behind it.
  for (ByteRange& range : ranges)
    for (size_t tag = range.offset; (tag = find_text(file.first(range.end()), tag, "ID3")) < range.end(); ++tag)
      if (const size_t bytes = id3v2_bytes(file.subspan(tag)); bytes > 0 && tag + bytes == range.end()) {
        range.bytes = tag - range.offset;
        break;
      }
  return ranges;
}

}  // namespace spdld::ffmpeg
