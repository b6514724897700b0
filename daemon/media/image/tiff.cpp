#include "daemon/media/image/tiff.h"

#include <algorithm>
#include <array>

namespace spdld::image {
namespace {

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

std::optional<std::span<const uint8_t>> behind_exif_name(std::span<const uint8_t> block) {
  if (block.size() < kExifName.size() || !std::equal(kExifName.begin(), kExifName.end(), block.begin())) {
    return std::nullopt;
  }
  return block.subspan(kExifName.size());
}

}  // namespace spdld::image
