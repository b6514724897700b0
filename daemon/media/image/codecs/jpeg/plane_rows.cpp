#include "daemon/media/image/codecs/jpeg/plane_rows.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spdld::image {
namespace {

// Writes past the cache. `bytes` are whole alignments, as both places are.
void stream(const uint8_t* from, size_t bytes, uint8_t* to) {
#if defined(__SSE2__)
  static_assert(PlanesLayout::kAlignment % sizeof(__m128i) == 0);
  for (size_t i = 0; i < bytes; i += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

void point_at(const PlanesShape& shape, const PlanesLayout& layout, uint8_t* memory, int x, uint8_t* spare,
              PlaneRows& rows) {
  for (int c = 0; c < shape.planes(); ++c) {
    const auto at = static_cast<size_t>(c);
    const int height = shape.plane(c).height;
    uint8_t* plane = memory + layout.offset[at] + (c == 0 ? x : x / shape.chroma_across);
    for (int i = 0; i < rows.count[at]; ++i) {
      const int y = rows.first[at] + i;
      rows.rows[at][static_cast<size_t>(i)] =
          y < height ? plane + layout.stride_bytes[at] * static_cast<size_t>(y) : spare;
    }
  }
}

void keep_rows(const PlanesShape& shape, const PlanesLayout& layout, const PlaneRows& rows, uint8_t* memory) {
  for (int c = 0; c < shape.planes(); ++c) {
    const auto at = static_cast<size_t>(c);
    const Size size = shape.plane(c);
    const size_t stride = layout.stride_bytes[at], width = static_cast<size_t>(size.width);
    uint8_t* to = memory + layout.offset[at] + stride * static_cast<size_t>(rows.first[at]);
    for (int i = 0; i < std::min(rows.count[at], size.height - rows.first[at]); ++i, to += stride) {
      uint8_t* row = rows.rows[at][static_cast<size_t>(i)];
      std::memset(row + width, 0, stride - width);
      stream(row, stride, to);
    }
  }
}

void end_kept_rows(const PlanesLayout& layout, uint8_t* memory) {
  std::memset(memory + layout.bytes - PlanesLayout::kSlackBytes, 0, PlanesLayout::kSlackBytes);
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

Box with_neighbours(const Box& box, const PlanesShape& shape) {
  const int across = shape.chroma_across, down = shape.chroma_down;
  const int left = std::max(0, box.x - across), top = std::max(0, box.y - down);
  const int right = std::min(shape.picture.width, box.x + box.width + across);
  const int bottom = std::min(shape.picture.height, box.y + box.height + down);
  return {left, top, right - left, bottom - top};
}

}  // namespace spdld::image
