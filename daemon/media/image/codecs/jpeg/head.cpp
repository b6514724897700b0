#include "daemon/media/image/codecs/jpeg/exif.h"
#include "daemon/media/image/codecs/jpeg/segments.h"
#include "daemon/media/image/codecs/picture_head.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/sniff.h"

namespace spdld::image {
namespace {

constexpr int kFirstTurned = 5;  // orientations from here on exchange height and width

uint32_t two_bytes(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) << 8 | bytes[at + 1];
}

// SOF0 to SOF15 (ITU-T T.81, table B.1), without DHT, JPG and DAC, which lie among them.
bool begins_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// The size as stored, where the head reaches the first scan: then all segments that the decoder would look at are in
// it.
std::optional<Size> stored_size(std::span<const uint8_t> head) {
  std::optional<Size> size;
  const HeadEnd end = visit_segments(head, [&](const Segment& segment) {
    if (!begins_frame(segment.marker)) return true;
    if (size || segment.content.size() < 6) return false;
    size = Size{static_cast<int>(two_bytes(segment.content, 3)), static_cast<int>(two_bytes(segment.content, 1))};
    return true;
  });
  return end == HeadEnd::kScan ? size : std::nullopt;
}

}  // namespace

std::optional<Size> jpeg_size_in_head(std::span<const uint8_t> head, bool exif) {
  if (!begins_like_jpeg(head)) return std::nullopt;
  const std::optional<Size> size = stored_size(head);
  if (!size || size->height == 0 || size->width == 0) return std::nullopt;
  if (int64_t{size->height} * size->width > kPixelsMax) return std::nullopt;  // the decoder says why
  const bool is_turned = exif && exif_orientation(head) >= kFirstTurned;
  return is_turned ? Size{size->height, size->width} : *size;
}

}  // namespace spdld::image
