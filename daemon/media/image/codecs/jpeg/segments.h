// A JPEG's markers, and the segments before its first scan (ITU-T T.81, B.1.1). Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::image {

// ITU-T T.81, table B.1.
namespace marker {
inline constexpr uint8_t kTemporary = 0x01, kHuffman = 0xC4, kFirstRestart = 0xD0, kStart = 0xD8, kEnd = 0xD9,
                         kScan = 0xDA, kRestartInterval = 0xDD, kFirstApplication = 0xE0, kComment = 0xFE,
                         kFirstWithLength = 0xC0;
inline bool is_restart(uint8_t marker) { return (marker & 0xF8) == kFirstRestart; }
inline bool is_application(uint8_t marker) { return (marker & 0xF0) == kFirstApplication; }
}  // namespace marker

struct Segment {
  uint8_t marker;
  std::span<const uint8_t> content;  // without the marker and the length
};

enum class HeadEnd : uint8_t {
  kScan,    // the first scan begins here: all segments before it were seen
  kBroken,  // the picture ends, or these are no segments, or the bytes end within one
  kStopped  // the visitor has seen enough
};

// Where the next marker begins, from `at` on. Fill bytes may stand before a marker, and stray bytes are passed over, as
// libjpeg does.
inline size_t marker_from(std::span<const uint8_t> jpeg, size_t at) {
  while (at + 1 < jpeg.size() && (jpeg[at] != 0xFF || jpeg[at + 1] == 0xFF || jpeg[at + 1] == 0)) ++at;
  return at;
}

// Shows each segment to `visit`, in order, until it returns false. Precondition: the bytes begin with SOI.
template <typename Visit>
HeadEnd visit_segments(std::span<const uint8_t> jpeg, Visit&& visit) {
  size_t at = 2;
  while ((at = marker_from(jpeg, at)) + 4 <= jpeg.size()) {
    const uint8_t found = jpeg[at + 1];
    if (found == marker::kScan) return HeadEnd::kScan;
    if (found == marker::kStart || found == marker::kEnd) return HeadEnd::kBroken;
    if (found == marker::kTemporary || marker::is_restart(found)) {  // which have no length
      at += 2;
      continue;
    }
    const size_t length = static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3];  // counts itself
    if (length < 2 || at + 2 + length > jpeg.size()) return HeadEnd::kBroken;
    if (!visit(Segment{found, jpeg.subspan(at + 4, length - 2)})) return HeadEnd::kStopped;
    at += 2 + length;
  }
  return HeadEnd::kBroken;
}

}  // namespace spdld::image
