#include "daemon/media/image/codecs/jpeg/exif.h"

#include <string_view>

#include "daemon/media/image/codecs/jpeg/segments.h"
#include "daemon/media/image/codecs/sniff.h"
#include "daemon/media/image/codecs/tiff.h"

namespace spdld::image {
namespace {

using namespace std::string_view_literals;

constexpr uint8_t kApp1 = 0xE1;
constexpr int kUpright = 1;
constexpr auto kXmpName = "http://ns.adobe.com/xap/1.0/\0"sv;

bool is_xmp(std::span<const uint8_t> content) {
  return std::string_view(reinterpret_cast<const char*>(content.data()), content.size()).starts_with(kXmpName);
}

}  // namespace

// The first EXIF segment that holds something counts, and the last one of XMP, as in Pillow.
int exif_orientation(std::span<const uint8_t> jpeg) {
  if (!begins_like_jpeg(jpeg)) return kUpright;
  std::span<const uint8_t> tiff, xmp;
  std::optional<int> told;
  visit_segments(jpeg, [&](const Segment& segment) {
    if (segment.marker != kApp1) return true;
    const auto block = behind_exif_names(segment.content);
    if (block.size() == segment.content.size()) {
      if (is_xmp(block)) xmp = block.subspan(kXmpName.size());
    } else if (tiff.empty() && !block.empty()) {
      tiff = block;
      told = tiff_orientation(tiff);
    }
    return !told;
  });
  return told ? *told : xmp_orientation(xmp).value_or(kUpright);
}

}  // namespace spdld::image
