// Files of boxes, each with its length and its kind before its content, as JPEG 2000 (ISO/IEC 15444-1, annex I), JPEG
// XL (ISO/IEC 18181-2) and AVIF (ISO/IEC 14496-12) have them. Lengths that claim too much are cut. Pure functions; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace spdld::image {

// A number of up to four bytes, the highest first; zeros stand for bytes behind the end.
uint32_t box_number(std::span<const uint8_t> bytes, size_t at, size_t length);

constexpr uint32_t box_kind(const char (&text)[5]) {
  return static_cast<uint32_t>(text[0]) << 24 | static_cast<uint32_t>(text[1]) << 16 |
         static_cast<uint32_t>(text[2]) << 8 | static_cast<uint32_t>(text[3]);
}

struct FileBox {
  uint32_t kind = 0;
  std::span<const uint8_t> content;  // ends where its parent ends at the latest
  size_t whole_bytes = 0;            // with its header
};
// The box that `bytes` begin with; none: no box begins so.
std::optional<FileBox> first_box(std::span<const uint8_t> bytes);

// Shows each box to `visit`, in order.
template <typename Visit>
void for_each_box(std::span<const uint8_t> boxes, Visit visit) {
  while (const auto box = first_box(boxes)) {
    visit(*box);
    boxes = boxes.subspan(box->whole_bytes);
  }
}

// The content of the first box of a kind; empty: there is none.
std::span<const uint8_t> find_box(std::span<const uint8_t> bytes, uint32_t kind);

}  // namespace spdld::image
