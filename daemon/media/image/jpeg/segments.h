// The segments before a JPEG's first scan (ITU-T T.81, B.1.1.4). Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace spdld::image {

struct Segment {
  uint8_t marker;
  std::span<const uint8_t> content;  // without the marker and the length
};

enum class HeadEnd : uint8_t {
  kScan,    // the first scan begins here: all segments before it were seen
  kBroken,  // the picture ends, or these are no segments, or the bytes end within one
  kStopped  // the visitor has seen enough
};

// Shows each segment to `visit`, in order, until it returns false. Precondition: the bytes begin with SOI.
template <typename Visit>
HeadEnd visit_segments(std::span<const uint8_t> jpeg, Visit&& visit) {
  constexpr uint8_t kStartOfScan = 0xDA, kEndOfImage = 0xD9;
  size_t at = 2;
  while (at + 4 <= jpeg.size() && jpeg[at] == 0xFF) {
    const uint8_t marker = jpeg[at + 1];
    if (marker == 0xFF) {  // fill bytes may stand before a marker
      ++at;
      continue;
    }
    if (marker == kStartOfScan) return HeadEnd::kScan;
    if (marker == kEndOfImage) return HeadEnd::kBroken;
    const size_t length = static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3];  // counts itself
    if (length < 2 || at + 2 + length > jpeg.size()) return HeadEnd::kBroken;
    if (!visit(Segment{marker, jpeg.subspan(at + 4, length - 2)})) return HeadEnd::kStopped;
    at += 2 + length;
  }
  return HeadEnd::kBroken;
}

}  // namespace spdld::image
