#include "daemon/media/image/codecs/orient.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace spdld::image {
namespace {

// upright(x, y) = stored(u, v) with (u, v) = swapped ? (y, x) : (x, y), then u, v counted from the far edge where
// flipped.
struct Turn {
  bool swapped, flip_u, flip_v;
};

Turn turn_of(int orientation) {
  switch (orientation) {
    case 2:
      return {false, true, false};
    case 3:
      return {false, true, true};
    case 4:
      return {false, false, true};
    case 5:
      return {true, false, false};
    case 6:
      return {true, false, true};
    case 7:
      return {true, true, true};
    case 8:
      return {true, true, false};
    default:
      return {false, false, false};
  }
}

constexpr int kTile = 32;  // columns at once, so that the stored rows read by a swapped turn stay in the first cache

template <int kPixelBytes>
void copy_tile(const uint8_t* first, ptrdiff_t step_x, ptrdiff_t step_y, int columns, int rows, uint8_t* out,
               size_t stride_bytes) {
  for (int y = 0; y < rows; ++y) {
    const uint8_t* from = first + step_y * y;
    uint8_t* to = out + stride_bytes * static_cast<size_t>(y);
    for (int x = 0; x < columns; ++x, from += step_x, to += kPixelBytes) std::memcpy(to, from, kPixelBytes);
  }
}

using CopyTile = void (*)(const uint8_t*, ptrdiff_t, ptrdiff_t, int, int, uint8_t*, size_t);

CopyTile copy_of(int pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return copy_tile<1>;
    case 2:
      return copy_tile<2>;
    case 4:
      return copy_tile<4>;
    case 6:
      return copy_tile<6>;
    case 8:
      return copy_tile<8>;
    default:
      return copy_tile<3>;
  }
}

}  // namespace

Status check_box(const Box& box, const Size& picture) {
  const bool is_inside = box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
                         box.width <= picture.width - box.x && box.height <= picture.height - box.y;
  if (is_inside) return Done{};
  return Error{Trouble::kInternal, "a box outside of the picture was to be decoded"};
}

Size oriented_size(const Size& stored, int orientation) {
  return turn_of(orientation).swapped ? Size{stored.height, stored.width} : stored;
}

Box stored_box(const Box& upright, const Size& stored, int orientation) {
  const Turn turn = turn_of(orientation);
  Box box = turn.swapped ? Box{upright.y, upright.x, upright.height, upright.width} : upright;
  if (turn.flip_u) box.x = stored.width - box.x - box.width;
  if (turn.flip_v) box.y = stored.height - box.y - box.height;
  return box;
}

void orient_rows(const PixelRows& from, const Box& upright, int orientation, PixelRows& to) {
  const Turn turn = turn_of(orientation);
  const int pixel = from.format.pixel_bytes();
  to.format = from.format;
  to.offset = 0;
  to.covers = upright;
  to.picture = oriented_size(from.picture, orientation);
  to.stride_bytes = static_cast<size_t>(upright.width) * static_cast<size_t>(pixel);
  uint8_t* out = to.memory.resize(to.stride_bytes * static_cast<size_t>(upright.height) + PixelRows::kSlackBytes);

  const Box box = stored_box(upright, from.picture, orientation);
  const ptrdiff_t step_u = turn.flip_u ? -pixel : pixel;
  const ptrdiff_t step_v = static_cast<ptrdiff_t>(from.stride_bytes) * (turn.flip_v ? -1 : 1);
  const ptrdiff_t step_x = turn.swapped ? step_v : step_u, step_y = turn.swapped ? step_u : step_v;
  const int u = turn.flip_u ? box.x + box.width - 1 : box.x, v = turn.flip_v ? box.y + box.height - 1 : box.y;
  const uint8_t* first = from.row(v) + static_cast<ptrdiff_t>(pixel) * (u - from.covers.x);
  const CopyTile copy = copy_of(pixel);
  for (int x = 0; x < upright.width; x += kTile) {
    copy(first + step_x * x, step_x, step_y, std::min(kTile, upright.width - x), upright.height, out + pixel * x,
         to.stride_bytes);
  }
}

}  // namespace spdld::image
