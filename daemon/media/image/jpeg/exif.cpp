#include "daemon/media/image/jpeg/exif.h"

#include <algorithm>
#include <array>

namespace spdld::image {
namespace {

constexpr uint8_t kStartOfImage = 0xD8, kEndOfImage = 0xD9, kStartOfScan = 0xDA, kApp1 = 0xE1;
constexpr std::array<uint8_t, 6> kExifName = {'E', 'x', 'i', 'f', 0, 0};
constexpr uint32_t kOrientationTag = 0x0112, kShort = 3, kLong = 4;
constexpr size_t kEntryBytes = 12;
constexpr int kUpright = 1;

// Bounds-checked reader of a TIFF block: what lies outside reads as 0, which no field of interest is.
class Tiff {
 public:
  Tiff(std::span<const uint8_t> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(uint64_t at) const { return number(at, 2); }
  uint32_t u32(uint64_t at) const { return number(at, 4); }

 private:
  uint32_t number(uint64_t at, unsigned count) const {
    if (at + count > bytes_.size()) return 0;
    uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t place = big_endian_ ? at + i : at + count - 1 - i;
      value = value << 8 | bytes_[static_cast<size_t>(place)];
    }
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

bool names_exif(std::span<const uint8_t> segment) {
  return segment.size() >= kExifName.size() && std::equal(kExifName.begin(), kExifName.end(), segment.begin());
}

}  // namespace

int tiff_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return kUpright;
  const Tiff block(tiff, tiff[0] == 'M');
  if (block.u16(2) != 42) return kUpright;
  const uint64_t directory = block.u32(4);
  const uint32_t entries = block.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (block.u16(entry) != kOrientationTag) continue;
    const uint32_t type = block.u16(entry + 2);
    const uint32_t value = type == kShort ? block.u16(entry + 8) : type == kLong ? block.u32(entry + 8) : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

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
    const auto segment = jpeg.subspan(at + 4, length - 2);
    if (marker == kApp1 && names_exif(segment)) return tiff_orientation(segment.subspan(kExifName.size()));
    at += 2 + length;
  }
  return kUpright;
}

}  // namespace spdld::image
