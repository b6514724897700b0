#include "daemon/media/image/adjustments/warper.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "daemon/base/random.h"
#include "daemon/media/image/adjustments/adjust_pixels.h"
#include "daemon/media/image/adjustments/adjust_rows.h"
#include "daemon/media/image/adjustments/pillow_warp.h"
#include "daemon/media/image/adjustments/warp_maps.h"
#include "daemon/media/image/adjustments/warp_rows.h"

namespace spdld::image {
namespace {

// Of the bytes of a row: about so many in a nanosecond, and so many products of a sum.
constexpr uint64_t kCopiedInANs = 4, kWarpSumsInANs = 4;

bool is_in(int32_t at, int side) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(side); }

// The pixel that has this place; -1 where there is none.
int32_t pixel_within(double at, int side) { return at >= 0 && at < side ? static_cast<int32_t>(at) : -1; }

// --- a border ---

// One pixel, or its colour where there is none.
void copy_pixel(const uint8_t* row, int at, const Warp& warp, size_t channels, uint8_t* out) {
  std::memcpy(out, at < 0 ? warp.fill.data() : row + static_cast<size_t>(at) * channels, channels);
}

void run_border(const Warp& warp, const uint8_t* pixels, size_t channels, uint8_t* out, media::WorkGuard* guard) {
  const size_t from_bytes = static_cast<size_t>(warp.source.width) * channels;
  for (int y = 0; y < warp.size.height; ++y) {
    media::spend(guard, static_cast<uint64_t>(warp.size.width) * channels, kCopiedInANs);
    const int from = place_behind(warp.border_kind, y - warp.border.top, warp.source.height);
    const uint8_t* row = pixels + static_cast<size_t>(std::max(from, 0)) * from_bytes;
    const auto put = [&](int first, int last) {
      for (int x = first; x < last; ++x, out += channels) {
        const int at = place_behind(warp.border_kind, x - warp.border.left, warp.source.width);
        copy_pixel(row, from < 0 ? -1 : at, warp, channels, out);
      }
    };
    const int right = warp.border.left + warp.source.width;
    put(0, from < 0 ? warp.size.width : warp.border.left);
    if (from < 0) continue;
    std::memcpy(out, row, from_bytes);
    out += from_bytes;
    put(right, warp.size.width);
  }
}

}  // namespace

template <typename Use>
void Warper::with_map(const Warp& warp, Use use) {
  if (warp.kind == WarpKind::kAffine) return use(AffineMap(warp));
  if (warp.kind == WarpKind::kPerspective) return use(PerspectiveMap(warp));
  const Displacements& by = displacements_of(warp);
  use(ElasticMap(warp, by.across.data(), by.down.data()));
}

void Warper::run(const Warp& warp, const uint8_t* pixels, int channels, uint8_t* out) {
  if (warp.kind == WarpKind::kBorder) return run_border(warp, pixels, static_cast<size_t>(channels), out, guard_);
  if (warp.kind == WarpKind::kPillow) return run_as_pillow(warp, pixels, channels, out, guard_);
  const auto width = static_cast<size_t>(warp.size.width);
  xs_.resize(width);
  ys_.resize(width);
  with_map(warp, [&](const auto& map) {
    for (int y = 0; y < warp.size.height; ++y, out += width * static_cast<size_t>(channels)) {
      media::spend(guard_, 4 * width, 1);
      fill_spots(map, y, warp.source, xs_, ys_);
      take_row({warp, pixels, xs_, ys_}, channels, out);
    }
  });
}

void Warper::nearest(const Warp& warp, std::span<int32_t> xs, std::span<int32_t> ys) {
  const auto put = [&](size_t i, int32_t x, int32_t y) {
    const bool is_inside = is_in(x, warp.source.width) && is_in(y, warp.source.height);
    xs[i] = is_inside ? x : kOutside;
    ys[i] = is_inside ? y : kOutside;
  };
  if (warp.kind == WarpKind::kBorder) {
    for (size_t i = 0; i < xs.size(); ++i) {
      if (xs[i] == kOutside) continue;
      put(i, place_behind(warp.border_kind, xs[i] - warp.border.left, warp.source.width),
          place_behind(warp.border_kind, ys[i] - warp.border.top, warp.source.height));
    }
    return;
  }
  if (warp.kind == WarpKind::kPillow) {
    for (size_t i = 0; i < xs.size(); ++i) {
      if (xs[i] == kOutside) continue;
      const Place place = pillow_place(warp, xs[i], ys[i]);
      put(i, pixel_within(place.x, warp.source.width), pixel_within(place.y, warp.source.height));
    }
    return;
  }
  with_map(warp, [&](const auto& map) {
    for (size_t i = 0; i < xs.size(); ++i) {
      if (xs[i] == kOutside) continue;
      const Spot spot = map(xs[i], ys[i]);
      put(i, static_cast<int32_t>(to_nearest(bounded(spot.x, warp.source.width))),
          static_cast<int32_t>(to_nearest(bounded(spot.y, warp.source.height))));
    }
  });
}

// --- the way ahead ---

namespace {

// The pixel whose displacement a place takes, of `side` ones.
int pixel_of(double at, int side) {
  const double last = side - 1, from_first = at > 0 ? std::ceil(at) : 0;  // also of what is no number
  return static_cast<int>(from_first < last ? from_first : last);
}

Place ahead_of_affine(const Warp& warp, const Place& place) {
  const auto& back = warp.back;
  const double divisor = back[0] * back[4] - back[1] * back[3];
  const double x = place.x - warp.source.width * 0.5 - back[2], y = place.y - warp.source.height * 0.5 - back[5];
  return {(back[4] * x - back[1] * y) / divisor + warp.size.width * 0.5,
          (back[0] * y - back[3] * x) / divisor + warp.size.height * 0.5};
}

Place ahead_of_pillow(const Warp& warp, const Place& place) {
  const auto& back = warp.back;
  const double divisor = back[0] * back[4] - back[1] * back[3];
  const double x = place.x - back[2], y = place.y - back[5];
  return {(back[4] * x - back[1] * y) / divisor, (back[0] * y - back[3] * x) / divisor};
}

Place ahead_of_perspective(const Warp& warp, const Place& place) {
  const auto& c = warp.back;
  const double x = (c[4] - c[5] * c[7]) * place.x + (c[2] * c[7] - c[1]) * place.y + (c[1] * c[5] - c[2] * c[4]);
  const double y = (c[5] * c[6] - c[3]) * place.x + (c[0] - c[2] * c[6]) * place.y + (c[2] * c[3] - c[0] * c[5]);
  const double divisor =
      (c[3] * c[7] - c[4] * c[6]) * place.x + (c[1] * c[6] - c[0] * c[7]) * place.y + (c[0] * c[4] - c[1] * c[3]);
  return {x / divisor, y / divisor};
}

}  // namespace

Place Warper::ahead(const Warp& warp, const Place& place) {
  switch (warp.kind) {
    case WarpKind::kAffine:
      return ahead_of_affine(warp, place);
    case WarpKind::kPillow:
      return ahead_of_pillow(warp, place);
    case WarpKind::kPerspective:
      return ahead_of_perspective(warp, place);
    case WarpKind::kBorder:
      return {place.x + warp.border.left, place.y + warp.border.top};
    case WarpKind::kElastic:
      break;
  }
  const Displacements& by = displacements_of(warp);
  const int x = pixel_of(place.x, warp.source.width), y = pixel_of(place.y, warp.source.height);
  const size_t at = static_cast<size_t>(y) * static_cast<size_t>(warp.source.width) + static_cast<size_t>(x);
  const Spot spot = Unnormalized(warp.source)(Identity(warp.source.width).at(x) - by.across[at],
                                              Identity(warp.source.height).at(y) - by.down[at]);
  return {spot.x, spot.y};
}

// --- displacements ---

// `taps` weights along each side, of the picture mirrored at its outermost pixels.
void Warper::blur(const Size& size, int taps, const std::array<double, 2>& sigma, std::vector<float>& values) {
  const int half = taps / 2;
  const auto width = static_cast<size_t>(size.width), border = static_cast<size_t>(half);
  weights_.resize(static_cast<size_t>(taps));
  rows_.resize(weights_.size());
  between_.resize(values.size());
  fill_gaussian(sigma[1], weights_);
  const uint64_t of_row = width * static_cast<uint64_t>(taps);
  for (int y = 0; y < size.height; ++y) {
    media::spend(guard_, of_row, kWarpSumsInANs);
    for (int i = 0; i < taps; ++i) {
      const int row = place_behind(BorderKind::kReflect, y + i - half, size.height);
      rows_[static_cast<size_t>(i)] = values.data() + static_cast<size_t>(row) * width;
    }
    weigh_rows(rows_, weights_, width, between_.data() + static_cast<size_t>(y) * width);
  }
  fill_gaussian(sigma[0], weights_);
  row_.resize(width + 2 * border);
  for (int y = 0; y < size.height; ++y) {
    media::spend(guard_, of_row, kWarpSumsInANs);
    const float* from = between_.data() + static_cast<size_t>(y) * width;
    std::copy_n(from, width, row_.data() + border);
    for (int i = 1; i <= half; ++i) {
      const auto at = static_cast<size_t>(i);
      row_[border - at] = from[place_behind(BorderKind::kReflect, -i, size.width)];
      row_[border + width - 1 + at] = from[place_behind(BorderKind::kReflect, size.width - 1 + i, size.width)];
    }
    weigh_line(row_.data(), 1, weights_, width, values.data() + static_cast<size_t>(y) * width);
  }
}

void Warper::draw_displacements(const Warp& warp) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // SplitMix64's
  constexpr float kBits = 1.0F / (1u << 23);      // -1 to 1 in steps of 24 bits
  auto& [kept, across, down] = *displacements_;
  kept = Warp();  // until they are whole
  uint64_t seed = warp.seed;
  size_t side = 0;
  for (std::vector<float>* values : {&across, &down}) {
    values->resize(static_cast<size_t>(warp.source.width) * static_cast<size_t>(warp.source.height));
    media::spend(guard_, values->size(), 1);
    for (float& value : *values) value = static_cast<float>(mix_bits(seed += kStep) >> 40) * kBits - 1;
    if (warp.sigma[side] > 0) {
      const int taps = static_cast<int>(8 * warp.sigma[side] + 1) | 1;
      blur(warp.source, taps, warp.sigma, *values);
    }
    // torchvision divides displacements across by the height, and those down by the width.
    const auto by = static_cast<float>(warp.alpha[side] / (side == 0 ? warp.source.height : warp.source.width));
    for (float& value : *values) value *= by;
    ++side;
  }
  kept = warp;
}

const Warper::Displacements& Warper::displacements_of(const Warp& warp) {
  if (!displacements_) displacements_.emplace();
  if (displacements_->warp != warp) draw_displacements(warp);
  return *displacements_;
}

}  // namespace spdld::image
