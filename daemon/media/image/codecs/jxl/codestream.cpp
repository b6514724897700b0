#include "daemon/media/image/codecs/jxl/codestream.h"

#include "daemon/media/image/codecs/file_boxes.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

// Bits from the lowest of each byte on; zeros follow the end.
class JxlBits {
 public:
  explicit JxlBits(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint32_t take(unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      if (at_ / 8 < bytes_.size()) value |= (bytes_[at_ / 8] >> at_ % 8 & 1U) << i;
    }
    return value;
  }
  // A number of up to 64 bits. All that are written in the longest way give the greatest number.
  uint32_t take_number() {
    switch (take(2)) {
      case 0:
        return 0;
      case 1:
        return 1 + take(4);
      case 2:
        return 17 + take(8);
      default:
        return ~uint32_t{0};
    }
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace

std::span<const uint8_t> jxl_codestream(std::span<const uint8_t> bytes, std::vector<uint8_t>& memory) {
  constexpr size_t kPartNumber = 4;
  memory.clear();
  if (!bytes.empty() && bytes[0] == 0xFF) return bytes;
  if (const auto whole = find_box(bytes, box_kind("jxlc")); !whole.empty()) return whole;
  for_each_box(bytes, [&](const FileBox& box) {
    if (box.kind != box_kind("jxlp") || box.content.size() < kPartNumber) return;
    const auto part = box.content.subspan(kPartNumber);
    memory.insert(memory.end(), part.begin(), part.end());
  });
  return memory;
}

Status check_jxl_frame(std::span<const uint8_t> frame) {
  constexpr uint32_t kRegular = 0, kNoise = 1, kPatches = 2, kSplines = 16, kSkipsSmoothing = 128;
  JxlBits bits(frame);
  const bool has_defaults = bits.take(1) == 1;
  if (has_defaults) return Done{};
  if (bits.take(2) != kRegular) return not_decoded(kJxlName, "frames before its picture");
  bits.take(1);  // how it is coded
  const uint32_t flags = bits.take_number();
  if (flags == kPatches) return not_decoded(kJxlName, "patches");
  if (flags == kSplines) return not_decoded(kJxlName, "splines");
  if ((flags & ~(kNoise | kSkipsSmoothing)) != 0) return not_decoded(kJxlName, "frames that need others");
  return Done{};
}

}  // namespace spdld::image
