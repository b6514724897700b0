#include "daemon/media/image/codecs/png/unfilter.h"

#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/image/codecs/png/unfilter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A row, and the one above it.
struct Rows {
  const uint8_t* above;
  uint8_t* row;
  size_t bytes;
};

template <size_t kPixel>
HWY_INLINE void add_left(const Rows& rows) {
  uint8_t left[kPixel] = {};
  for (size_t i = 0; i < rows.bytes; i += kPixel) {
    for (size_t c = 0; c < kPixel; ++c) rows.row[i + c] = left[c] = static_cast<uint8_t>(rows.row[i + c] + left[c]);
  }
}

HWY_INLINE void add_above(const Rows& rows) {
  const hn::CappedTag<uint8_t, 64> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= rows.bytes; i += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, rows.row + i), hn::LoadU(d, rows.above + i)), d, rows.row + i);
  for (; i < rows.bytes; ++i) rows.row[i] = static_cast<uint8_t>(rows.row[i] + rows.above[i]);
}

template <size_t kPixel>
HWY_INLINE void add_mean(const Rows& rows) {
  uint8_t left[kPixel] = {};
  for (size_t i = 0; i < rows.bytes; i += kPixel) {
    for (size_t c = 0; c < kPixel; ++c) {
      const int mean = (left[c] + rows.above[i + c]) / 2;
      rows.row[i + c] = left[c] = static_cast<uint8_t>(rows.row[i + c] + mean);
    }
  }
}

// The neighbour that lies nearest to left + above - corner: left before above before corner.
HWY_INLINE int nearest(int left, int above, int corner) {
  const int by_left = std::abs(above - corner), by_above = std::abs(left - corner);
  const int by_corner = std::abs(left + above - 2 * corner);
  if (by_left <= by_above && by_left <= by_corner) return left;
  return by_above <= by_corner ? above : corner;
}

template <size_t kPixel>
HWY_INLINE void add_nearest_plainly(const Rows& rows) {
  uint8_t left[kPixel] = {}, corner[kPixel] = {};
  for (size_t i = 0; i < rows.bytes; i += kPixel) {
    for (size_t c = 0; c < kPixel; ++c) {
      const int of_it = nearest(left[c], rows.above[i + c], corner[c]);
      corner[c] = rows.above[i + c];
      rows.row[i + c] = left[c] = static_cast<uint8_t>(rows.row[i + c] + of_it);
    }
  }
}

// A vector holds one pixel, and of three bytes also the next one's first byte, which is not stored.
template <size_t kPixel>
HWY_INLINE void add_nearest(const Rows& rows) {
  const hn::CappedTag<int16_t, 4> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lowest = hn::Set(d, 255);
  auto left = hn::Zero(d), corner = hn::Zero(d);
  for (size_t i = 0; i < rows.bytes; i += kPixel) {
    const auto above = hn::PromoteTo(d, hn::LoadU(bytes, rows.above + i));
    const auto coded = hn::PromoteTo(d, hn::LoadU(bytes, rows.row + i));
    const auto down = hn::Sub(above, corner), across = hn::Sub(left, corner);
    const auto by_left = hn::Abs(down), by_above = hn::Abs(across), by_corner = hn::Abs(hn::Add(down, across));
    const auto least = hn::Min(hn::Min(by_left, by_above), by_corner);
    const auto other = hn::IfThenElse(hn::Eq(by_above, least), above, corner);
    const auto of_it = hn::IfThenElse(hn::Eq(by_left, least), left, other);
    left = hn::And(hn::Add(coded, of_it), lowest);
    corner = above;
    uint8_t pixel[4];
    hn::StoreU(hn::DemoteTo(bytes, left), bytes, pixel);
    std::memcpy(rows.row + i, pixel, kPixel);
  }
}

template <size_t kPixel>
HWY_INLINE void unfilter(uint8_t filter, const Rows& rows) {
  if (filter == 1) return add_left<kPixel>(rows);
  if (filter == 2) return add_above(rows);
  if (filter == 3) return add_mean<kPixel>(rows);
  if (filter != 4) return;
  if constexpr (kPixel == 1 || hn::MaxLanes(hn::CappedTag<int16_t, 4>()) < 4) {
    add_nearest_plainly<kPixel>(rows);
  } else {
    add_nearest<kPixel>(rows);
  }
}

void unfilter_kernel(uint8_t filter, int pixel_bytes, size_t row_bytes, const uint8_t* above, uint8_t* row) {
  const Rows rows{above, row, row_bytes};
  if (pixel_bytes == 1) return unfilter<1>(filter, rows);
  if (pixel_bytes == 3) return unfilter<3>(filter, rows);
  unfilter<4>(filter, rows);
}

}  // namespace
}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::image {

HWY_EXPORT(unfilter_kernel);

void unfilter_row(uint8_t filter, int pixel_bytes, size_t row_bytes, const uint8_t* above, uint8_t* row) {
  HWY_DYNAMIC_DISPATCH(unfilter_kernel)(filter, pixel_bytes, row_bytes, above, row);
}

}  // namespace spdld::image
#endif  // HWY_ONCE
