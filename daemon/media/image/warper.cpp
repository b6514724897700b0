#include "daemon/media/image/warper.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "daemon/base/random.h"
#include "daemon/media/image/adjust_pixels.h"

namespace spdld::image {
namespace {

using Kind = Warp::Kind;

// A place of the source, where whole numbers are the middles of pixels.
struct Spot {
  float x, y;
};

// grid_sample's way from -1 .. 1, the borders of the picture, to pixels.
struct Unnormalized {
  explicit Unnormalized(const Size& source)
      : half_width(static_cast<float>(source.width) / 2), half_height(static_cast<float>(source.height) / 2) {}
  Spot operator()(float x, float y) const { return {(x + 1) * half_width - 0.5F, (y + 1) * half_height - 0.5F}; }
  float half_width, half_height;
};

// The numbers of `warp.back` in parts of half a side, as float32.
std::array<float, 6> rescaled(const Warp& warp, const Size& by) {
  std::array<float, 6> numbers;
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(warp.back[i]) / (0.5F * static_cast<float>(i < 3 ? by.width : by.height));
  return numbers;
}

struct AffineMap {
  explicit AffineMap(const Warp& warp)
      : by(rescaled(warp, warp.source)),
        left((1 - static_cast<float>(warp.size.width)) * 0.5F),
        top((1 - static_cast<float>(warp.size.height)) * 0.5F),
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const float x = left + static_cast<float>(column), y = top + static_cast<float>(row);
    return to_pixels((x * by[0] + y * by[1]) + by[2], (x * by[3] + y * by[4]) + by[5]);
  }
  std::array<float, 6> by;
  float left, top;
  Unnormalized to_pixels;
};

struct PerspectiveMap {
  explicit PerspectiveMap(const Warp& warp)
      : by(rescaled(warp, warp.size)),
        below{static_cast<float>(warp.back[6]), static_cast<float>(warp.back[7])},
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const float x = static_cast<float>(column) + 0.5F, y = static_cast<float>(row) + 0.5F;
    const float divisor = (x * below[0] + y * below[1]) + 1;
    return to_pixels(((x * by[0] + y * by[1]) + by[2]) / divisor - 1, ((x * by[3] + y * by[4]) + by[5]) / divisor - 1);
  }
  std::array<float, 6> by;
  std::array<float, 2> below;
  Unnormalized to_pixels;
};

// One side of torch's linspace((1 - n) / n, (n - 1) / n, n), which counts from both ends.
struct Identity {
  explicit Identity(int side)
      : count(side),
        last(static_cast<float>(static_cast<double>(side - 1) / side)),
        step(side > 1 ? (last + last) / static_cast<float>(side - 1) : 0) {}
  float at(int i) const {
    return i < count / 2 ? -last + step * static_cast<float>(i) : last - step * static_cast<float>(count - 1 - i);
  }
  int count;
  float last, step;
};

struct ElasticMap {
  ElasticMap(const Warp& warp, const float* across_, const float* down_)
      : width(static_cast<size_t>(warp.size.width)),
        columns(warp.size.width),
        rows(warp.size.height),
        across(across_),
        down(down_),
        to_pixels(warp.source) {}
  Spot operator()(int column, int row) const {
    const size_t at = static_cast<size_t>(row) * width + static_cast<size_t>(column);
    return to_pixels(columns.at(column) + across[at], rows.at(row) + down[at]);
  }
  size_t width;
  Identity columns, rows;
  const float *across, *down;
  Unnormalized to_pixels;
};

// Not far from the picture, also where it is no number.
float bounded(float at, int side) {
  const auto most = static_cast<float>(side) + 1;
  const float from_least = at > -2 ? at : -2;
  return from_least < most ? from_least : most;
}

// To the nearest whole number, ties to even, of a value below 2^22.
float to_nearest(float value) {
  constexpr float kWholeFrom = 12'582'912;  // 1.5 * 2^23
  return (value + kWholeFrom) - kWholeFrom;
}

bool is_in(int32_t at, int side) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(side); }

// --- pixels of a row, of kChannels channels ---

struct RowTask {
  const Warp& warp;
  const uint8_t* pixels;  // of the source
  const float *xs, *ys;   // spots of the row's pixels, bounded
};

template <int kChannels>
void take_nearest(const RowTask& task, uint8_t* out) {
  const Size source = task.warp.source;
  for (int i = 0; i < task.warp.size.width; ++i, out += kChannels) {
    const auto x = static_cast<int32_t>(to_nearest(task.xs[i])), y = static_cast<int32_t>(to_nearest(task.ys[i]));
    const bool is_inside = is_in(x, source.width) && is_in(y, source.height);
    const size_t at = static_cast<size_t>(y) * static_cast<size_t>(source.width) + static_cast<size_t>(x);
    const uint8_t* from = is_inside ? task.pixels + at * kChannels : task.warp.fill.data();
    for (int channel = 0; channel < kChannels; ++channel) out[channel] = from[channel];
  }
}

constexpr int kWeightBits = 11;  // of each side's weight
constexpr int kWeightOne = 1 << kWeightBits;

// A pixel of which a neighbour lies outside. That part is mixed with `fill` as torchvision does: outside is black, and
// the sum is then mixed by the weight of the neighbours inside.
template <int kChannels>
void mix_at_border(const RowTask& task, int left, int top, const int (&across)[2], const int (&down)[2], uint8_t* out) {
  constexpr float kOne = static_cast<float>(kWeightOne) * kWeightOne;
  const Size source = task.warp.source;
  float sums[kChannels] = {}, inside = 0;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const int x = left + dx, y = top + dy;
      if (!is_in(x, source.width) || !is_in(y, source.height)) continue;
      const float weight = static_cast<float>(across[dx] * down[dy]) / kOne;
      const size_t at = static_cast<size_t>(y) * static_cast<size_t>(source.width) + static_cast<size_t>(x);
      inside += weight;
      for (int channel = 0; channel < kChannels; ++channel)
        sums[channel] += weight * static_cast<float>(task.pixels[at * kChannels + static_cast<size_t>(channel)]);
    }
  }
  for (size_t channel = 0; channel < kChannels; ++channel) {
    const auto fill = static_cast<float>(task.warp.fill[channel]);
    out[channel] = value_of(to_nearest(inside * (sums[channel] - fill) + fill));
  }
}

template <int kChannels>
void take_bilinear(const RowTask& task, uint8_t* out) {
  const Size source = task.warp.source;
  const size_t stride = static_cast<size_t>(source.width) * kChannels;
  for (int i = 0; i < task.warp.size.width; ++i, out += kChannels) {
    const float left = std::floor(task.xs[i]), top = std::floor(task.ys[i]);
    const auto x = static_cast<int>(left), y = static_cast<int>(top);
    const int right_part = static_cast<int>((task.xs[i] - left) * kWeightOne + 0.5F);
    const int lower_part = static_cast<int>((task.ys[i] - top) * kWeightOne + 0.5F);
    const int across[2] = {kWeightOne - right_part, right_part}, down[2] = {kWeightOne - lower_part, lower_part};
    if (!is_in(x, source.width - 1) || !is_in(y, source.height - 1)) {
      mix_at_border<kChannels>(task, x, y, across, down, out);
      continue;
    }
    const uint8_t* above = task.pixels + static_cast<size_t>(y) * stride + static_cast<size_t>(x) * kChannels;
    const uint8_t* below = above + stride;
    constexpr int kHalf = 1 << (2 * kWeightBits - 1);
    for (int channel = 0; channel < kChannels; ++channel) {
      const int upper = above[channel] * across[0] + above[channel + kChannels] * across[1];
      const int lower = below[channel] * across[0] + below[channel + kChannels] * across[1];
      out[channel] = static_cast<uint8_t>((upper * down[0] + lower * down[1] + kHalf) >> (2 * kWeightBits));
    }
  }
}

void take_row(const RowTask& task, int channels, uint8_t* out) {
  const bool nearest = task.warp.filter == Filter::kNearest;
  if (channels == 1) return nearest ? take_nearest<1>(task, out) : take_bilinear<1>(task, out);
  return nearest ? take_nearest<3>(task, out) : take_bilinear<3>(task, out);
}

// --- a border ---

// One pixel, or its colour where there is none.
void copy_pixel(const uint8_t* row, int at, const Warp& warp, size_t channels, uint8_t* out) {
  std::memcpy(out, at < 0 ? warp.fill.data() : row + static_cast<size_t>(at) * channels, channels);
}

void run_border(const Warp& warp, const uint8_t* pixels, size_t channels, uint8_t* out) {
  const size_t from_bytes = static_cast<size_t>(warp.source.width) * channels;
  for (int y = 0; y < warp.size.height; ++y) {
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
  if (warp.kind == Kind::kAffine) return use(AffineMap(warp));
  if (warp.kind == Kind::kPerspective) return use(PerspectiveMap(warp));
  const Displacements& by = displacements_of(warp);
  use(ElasticMap(warp, by.across.data(), by.down.data()));
}

void Warper::run(const Warp& warp, const uint8_t* pixels, int channels, uint8_t* out) {
  if (warp.kind == Kind::kBorder) return run_border(warp, pixels, static_cast<size_t>(channels), out);
  const auto width = static_cast<size_t>(warp.size.width);
  xs_.resize(width);
  ys_.resize(width);
  with_map(warp, [&](const auto& map) {
    for (int y = 0; y < warp.size.height; ++y, out += width * static_cast<size_t>(channels)) {
      for (int x = 0; x < warp.size.width; ++x) {
        const Spot spot = map(x, y);
        xs_[static_cast<size_t>(x)] = bounded(spot.x, warp.source.width);
        ys_[static_cast<size_t>(x)] = bounded(spot.y, warp.source.height);
      }
      take_row({warp, pixels, xs_.data(), ys_.data()}, channels, out);
    }
  });
}

void Warper::nearest(const Warp& warp, std::span<int32_t> xs, std::span<int32_t> ys) {
  const auto put = [&](size_t i, int32_t x, int32_t y) {
    const bool is_inside = is_in(x, warp.source.width) && is_in(y, warp.source.height);
    xs[i] = is_inside ? x : kOutside;
    ys[i] = is_inside ? y : kOutside;
  };
  if (warp.kind == Kind::kBorder) {
    for (size_t i = 0; i < xs.size(); ++i) {
      if (xs[i] == kOutside) continue;
      put(i, place_behind(warp.border_kind, xs[i] - warp.border.left, warp.source.width),
          place_behind(warp.border_kind, ys[i] - warp.border.top, warp.source.height));
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
    case Kind::kAffine:
      return ahead_of_affine(warp, place);
    case Kind::kPerspective:
      return ahead_of_perspective(warp, place);
    case Kind::kBorder:
      return {place.x + warp.border.left, place.y + warp.border.top};
    case Kind::kElastic:
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
  between_.assign(values.size(), 0);
  fill_gaussian(sigma[1], weights_);
  for (int y = 0; y < size.height; ++y) {
    float* to = between_.data() + static_cast<size_t>(y) * width;
    for (int i = 0; i < taps; ++i) {
      const int row = place_behind(BorderKind::kReflect, y + i - half, size.height);
      const float* from = values.data() + static_cast<size_t>(row) * width;
      const float weight = weights_[static_cast<size_t>(i)];
      for (size_t x = 0; x < width; ++x) to[x] += weight * from[x];
    }
  }
  fill_gaussian(sigma[0], weights_);
  row_.resize(width + 2 * border);
  for (int y = 0; y < size.height; ++y) {
    const float* from = between_.data() + static_cast<size_t>(y) * width;
    for (int x = -half; x < size.width + half; ++x)
      row_[static_cast<size_t>(x + half)] = from[place_behind(BorderKind::kReflect, x, size.width)];
    float* to = values.data() + static_cast<size_t>(y) * width;
    std::fill_n(to, width, 0.0F);
    for (size_t i = 0; i < weights_.size(); ++i)
      for (size_t x = 0; x < width; ++x) to[x] += weights_[i] * row_[x + i];
  }
}

void Warper::draw_displacements(const Warp& warp) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // SplitMix64's
  constexpr float kBits = 1.0F / (1u << 23);      // -1 to 1 in steps of 24 bits
  auto& [kept, across, down] = *displacements_;
  kept = warp;
  uint64_t seed = warp.seed;
  size_t side = 0;
  for (std::vector<float>* values : {&across, &down}) {
    values->resize(static_cast<size_t>(warp.source.width) * static_cast<size_t>(warp.source.height));
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
}

const Warper::Displacements& Warper::displacements_of(const Warp& warp) {
  if (!displacements_) displacements_.emplace();
  if (displacements_->warp != warp) draw_displacements(warp);
  return *displacements_;
}

}  // namespace spdld::image
