#include "daemon/media/image/codecs/tiff.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spdld::image {
namespace {

constexpr std::array<uint8_t, 6> kExifName = {'E', 'x', 'i', 'f', 0, 0};
constexpr uint32_t kOrientationTag = 0x0112;
constexpr size_t kEntryBytes = 12, kInEntryMax = 4;
constexpr int kUpright = 1;

// A type of whole numbers, which is how large. Pillow takes numbers with a sign for the same values.
struct NumberType {
  uint32_t type;
  unsigned bytes;
};
constexpr std::array<NumberType, 6> kNumberTypes = {{{3, 2}, {4, 4}, {6, 1}, {8, 2}, {9, 4}, {13, 4}}};
constexpr uint32_t kTypeMax = 13;  // others are not known

// Bounds-checked reader of a TIFF block: what lies outside reads as 0, which no field of interest is.
class Tiff {
 public:
  Tiff(std::span<const uint8_t> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(uint64_t at) const { return number(at, 2); }
  uint32_t u32(uint64_t at) const { return number(at, 4); }
  uint32_t number(uint64_t at, unsigned count) const {
    if (at + count > bytes_.size()) return 0;
    uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t place = big_endian_ ? at + i : at + count - 1 - i;
      value = value << 8 | bytes_[static_cast<size_t>(place)];
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

// The first number of the entry at `entry`, 0 where its values are no whole numbers; none: it has none.
std::optional<uint32_t> number_in(const Tiff& block, uint64_t entry) {
  const uint32_t type = block.u16(entry + 2);
  const uint64_t count = block.u32(entry + 4);
  if (type == 0 || type > kTypeMax || count == 0) return std::nullopt;
  const auto found = std::find_if(kNumberTypes.begin(), kNumberTypes.end(),
                                  [type](const NumberType& one) { return one.type == type; });
  if (found == kNumberTypes.end()) return 0;
  const bool is_in_entry = count * found->bytes <= kInEntryMax;
  return block.number(is_in_entry ? entry + 8 : block.u32(entry + 8), found->bytes);
}

int known_or_upright(uint32_t value) { return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright; }

}  // namespace

// Of several entries the last one counts, as in Pillow. The number behind the byte order may lie in the other one.
std::optional<int> tiff_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return kUpright;
  const Tiff block(tiff, tiff[0] == 'M');
  if (block.u16(2) != 42 && block.u16(2) != 42 << 8) return kUpright;
  const uint64_t directory = block.u32(4);
  const uint32_t entries = block.u16(directory);
  std::optional<int> orientation;
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (block.u16(entry) != kOrientationTag) continue;
    if (const auto value = number_in(block, entry)) orientation = known_or_upright(*value);
  }
  return orientation;
}

// An attribute, `tiff:Orientation="6"`, or an element, `<tiff:Orientation>6</tiff:Orientation>`.
std::optional<int> xmp_orientation(std::span<const uint8_t> xmp) {
  constexpr std::string_view kProperty = "tiff:Orientation";
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  for (size_t at = text.find(kProperty); at != std::string_view::npos; at = text.find(kProperty, at)) {
    at += kProperty.size();
    auto value = text.substr(at);
    value.remove_prefix(value.starts_with("=\"") ? 2 : value.starts_with('>') ? 1 : value.size());
    if (!value.empty() && value[0] >= '0' && value[0] <= '9')
      return known_or_upright(static_cast<uint32_t>(value[0] - '0'));
  }
  return std::nullopt;
}

int picture_orientation(std::span<const uint8_t> tiff, std::span<const uint8_t> xmp) {
  if (!tiff.empty()) {
    if (const auto told = tiff_orientation(tiff)) return *told;
  }
  return xmp_orientation(xmp).value_or(kUpright);
}

std::span<const uint8_t> behind_exif_names(std::span<const uint8_t> block) {
  while (block.size() >= kExifName.size() && std::equal(kExifName.begin(), kExifName.end(), block.begin()))
    block = block.subspan(kExifName.size());
  return block;
}

}  // namespace spdld::image
