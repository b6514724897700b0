#include "daemon/media/image/jpeg/exif.h"

#include "daemon/media/image/tiff.h"

namespace spdld::image {
namespace {

constexpr uint8_t kStartOfImage = 0xD8, kEndOfImage = 0xD9, kStartOfScan = 0xDA, kApp1 = 0xE1;
constexpr int kUpright = 1;

}  // namespace

int exif_orientation(std::span<const uint8_t> jpeg) {
  if (jpeg.size() < 2 || jpeg[0] != 0xFF || jpeg[1] != kStartOfImage) return kUpright;
  size_t at = 2;
  while (at + 4 <= jpeg.size() && jpeg[at] == 0xFF) {
    const uint8_t marker = jpeg[at + 1];
    if (marker == 0xFF) {  // fill bytes may stand before a marker
      ++at;
      continue;
    }
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    const size_t length = static_cast<size_t>(jpeg[at + 2]) << 8 | jpeg[at + 3];  // counts itself
    if (length < 2 || at + 2 + length > jpeg.size()) break;
    const auto tiff = behind_exif_name(jpeg.subspan(at + 4, length - 2));
    if (marker == kApp1 && tiff) return tiff_orientation(*tiff);
    at += 2 + length;
  }
  return kUpright;
}

}  // namespace spdld::image
