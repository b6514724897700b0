#include "daemon/media/image/codecs/file_boxes.h"

#include <algorithm>

namespace spdld::image {

uint32_t box_number(std::span<const uint8_t> bytes, size_t at, size_t length) {
  uint32_t value = 0;
  for (size_t i = at; i < at + length; ++i) value = value << 8 | (i < bytes.size() ? bytes[i] : 0U);
  return value;
}

std::optional<FileBox> first_box(std::span<const uint8_t> bytes) {
  constexpr size_t kShort = 8, kLong = 16;
  if (bytes.size() < kShort) return std::nullopt;
  uint64_t length = box_number(bytes, 0, 4);
  size_t start = kShort;
  if (length == 1) {
    length = uint64_t{box_number(bytes, 8, 4)} << 32 | box_number(bytes, 12, 4);
    start = kLong;
  }
  if (length == 0) length = bytes.size();  // to the end
  if (length < start || bytes.size() < start) return std::nullopt;
  const size_t whole = static_cast<size_t>(std::min<uint64_t>(length, bytes.size()));
  return FileBox{box_number(bytes, 4, 4), bytes.subspan(start, whole - start), whole};
}

std::span<const uint8_t> find_box(std::span<const uint8_t> bytes, uint32_t kind) {
  while (const auto box = first_box(bytes)) {
    if (box->kind == kind) return box->content;
    bytes = bytes.subspan(box->whole_bytes);
  }
  return {};
}

}  // namespace spdld::image
