#include "daemon/media/image/codecs/planes.h"

#include <cstring>

namespace spdld {
namespace {

static_assert(PlanesLayout::kVersion < 10);
constexpr uint32_t kMagic = 0x006c7073 | ('0' + PlanesLayout::kVersion) << 24;  // "spl1"
constexpr int kSideMax = 65'535;                                                // of a JPEG

struct Header {
  uint32_t magic;
  int32_t width, height;
  uint8_t chroma_across, chroma_down, grey, unused;
};
static_assert(sizeof(Header) <= PlanesLayout::kHeaderBytes);

bool is_sound(const Header& header) {
  const auto is_side = [](int32_t n) { return n >= 1 && n <= kSideMax; };
  const auto is_factor = [](uint8_t n) { return n == 1 || n == 2; };
  return header.magic == kMagic && is_side(header.width) && is_side(header.height) && header.grey <= 1 &&
         is_factor(header.chroma_across) && is_factor(header.chroma_down);
}

}  // namespace

PlanesLayout::PlanesLayout(const PlanesShape& shape) : bytes(kHeaderBytes) {
  for (int i = 0; i < shape.planes(); i++) {
    const Size size = shape.plane(i);
    const auto at = static_cast<size_t>(i);
    offset[at] = bytes;
    stride_bytes[at] = (static_cast<size_t>(size.width) + kAlignment - 1) / kAlignment * kAlignment;
    bytes += stride_bytes[at] * static_cast<size_t>(size.height);
  }
  bytes += kSlackBytes;
}

void write_planes_header(const PlanesShape& shape, uint8_t* memory) {
  const Header header{kMagic,
                      shape.picture.width,
                      shape.picture.height,
                      shape.chroma_across,
                      shape.chroma_down,
                      static_cast<uint8_t>(shape.grey),
                      0};
  std::memcpy(memory, &header, sizeof header);
}

bool view_planes(const uint8_t* memory, size_t bytes, PlanesView& view) {
  Header header;
  if (bytes < PlanesLayout::kHeaderBytes) return false;
  std::memcpy(&header, memory, sizeof header);
  if (!is_sound(header)) return false;
  view.shape = {{header.width, header.height}, header.chroma_across, header.chroma_down, header.grey != 0};
  const PlanesLayout layout(view.shape);
  if (layout.bytes != bytes) return false;
  view.plane.fill(nullptr);
  view.stride_bytes = layout.stride_bytes;
  for (size_t i = 0; i < static_cast<size_t>(view.shape.planes()); i++) view.plane[i] = memory + layout.offset[i];
  return true;
}

}  // namespace spdld
