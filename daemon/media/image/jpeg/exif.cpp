#include "daemon/media/image/jpeg/exif.h"

#include "daemon/media/image/jpeg/segments.h"
#include "daemon/media/image/sniff.h"
#include "daemon/media/image/tiff.h"

namespace spdld::image {
namespace {

constexpr uint8_t kApp1 = 0xE1;
constexpr int kUpright = 1;

}  // namespace

int exif_orientation(std::span<const uint8_t> jpeg) {
  int orientation = kUpright;
  if (!begins_like_jpeg(jpeg)) return orientation;
  visit_segments(jpeg, [&](const Segment& segment) {
    const auto tiff = behind_exif_name(segment.content);
    const bool is_exif = segment.marker == kApp1 && tiff;
    if (is_exif) orientation = tiff_orientation(*tiff);
    return !is_exif;
  });
  return orientation;
}

}  // namespace spdld::image
