#include "daemon/media/image/kernels/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace spdld::image {
namespace {

constexpr size_t kBlock = 16;  // wanted pixels whose weights are found together
constexpr int kTapsFew = 16;

// Where wanted pixels lie in the source, and how far the triangle reaches: exact, in units of 1 / (2 out) pixels of the
// box. A `pixel` is one of the source.
struct Scale {
  int64_t in, samples, phase, pixel, support;
  int64_t step_whole, step_part;  // from one wanted pixel to the next: whole source pixels, and units

  explicit Scale(const AxisRequest& request)
      : in(request.in),
        samples(request.samples()),
        phase(2 * static_cast<int64_t>(request.out) * request.phase),
        pixel(2 * static_cast<int64_t>(request.out) * request.reduction),
        support(request.antialias ? std::max(2 * in, pixel) : pixel),
        step_whole(2 * in / pixel),
        step_part(2 * in % pixel) {}
  // Of wanted pixel i, from the centre of the source's pixel 0.
  int64_t centre(int i) const { return (2 * static_cast<int64_t>(i) + 1) * in + phase - pixel / 2; }
  // The first source pixel of which the triangle takes a part, and the one behind the last.
  int first(int i) const { return static_cast<int>(std::max(int64_t{0}, floor(centre(i) - support) + 1)); }
  int end(int i) const { return static_cast<int>(std::min(samples, -floor(-centre(i) - support))); }
  int taps_most() const { return static_cast<int>(std::min(samples, (2 * support + pixel - 1) / pixel)); }
  int64_t floor(int64_t units) const { return units / pixel - (units % pixel < 0 ? 1 : 0); }
};

}  // namespace

SourceRange source_range(const AxisRequest& request) {
  if (request.in == request.out) return {request.first, request.first + request.count};
  if (request.filter != Filter::kBilinear) return filter_range(request);
  const Scale scale(request);
  return {scale.first(request.first), scale.end(request.first + request.count - 1)};
}

void AxisWeights::resize(size_t count, int taps) {
  count_ = count;
  taps_ = taps;
  starts_.resize((count + kBlock - 1) / kBlock * kBlock);
  weights_.resize(starts_.size() * static_cast<size_t>(taps));
  parts_.resize(static_cast<size_t>(taps));
}

void AxisWeights::fill(const AxisRequest& request) {
  const Scale scale(request);
  range_ = source_range(request);
  resize(static_cast<size_t>(request.count),
         request.in == request.out ? 1 : std::min(scale.taps_most(), range_.end - range_.first));
  distances_.resize(starts_.size());
  // Each wanted pixel's reach begins at (before + part / pixel): counted on, as divisions would take longer.
  const int64_t begin = scale.centre(request.first) - scale.support;
  int64_t before = scale.floor(begin), part = begin - before * scale.pixel;
  for (size_t n = 0; n < count_; ++n) {
    const int64_t first = std::clamp(before + 1, int64_t{range_.first}, int64_t{range_.end - taps_});
    const int64_t distance = (first - before) * scale.pixel - part - scale.support;
    const size_t i = request.mirrored ? count_ - 1 - n : n;
    starts_[i] = static_cast<int>(first) - range_.first;
    distances_[i] = static_cast<int>(distance);
    if (taps_ > kTapsFew) fill_one(i, distance, scale.support, scale.pixel, request);
    before += scale.step_whole;
    part += scale.step_part;
    if (part >= scale.pixel) {
      part -= scale.pixel;
      ++before;
    }
  }
  if (taps_ > kTapsFew) return;
  fill_few(static_cast<float>(scale.support), static_cast<float>(scale.pixel));
  if (request.reduction == 1) return;
  for (size_t i = 0; i < count_; ++i) {  // pixels that take a part of a sample at the box's edge
    const int first = range_.first + starts_[i];
    if (first > 0 && first + taps_ < request.samples()) continue;
    fill_one(i, distances_[i], scale.support, scale.pixel, request);
  }
}

// Of many wanted pixels at once: loops that compilers turn into vectors. Few taps are exact enough in float.
void AxisWeights::fill_few(float support, float pixel) {
  std::fill(distances_.begin() + static_cast<ptrdiff_t>(count_), distances_.end(), 0);
  for (size_t at = 0; at < stride(); at += kBlock) {
    float parts[kTapsFew][kBlock], distance[kBlock], sum[kBlock] = {};
    int given[kBlock] = {};
    for (size_t i = 0; i < kBlock; ++i) distance[i] = static_cast<float>(distances_[at + i]);
    for (int k = 0; k < taps_; ++k) {
      for (size_t i = 0; i < kBlock; ++i) {
        const float weight = support - std::fabs(distance[i]);
        sum[i] += weight > 0 ? weight : 0;
        parts[k][i] = sum[i];
        distance[i] += pixel;
      }
    }
    // Sums up to each tap are rounded, not the weights: so these add up to kOne.
    for (float& one : sum) one = kOne / one;
    for (int k = 0; k < taps_; ++k) {
      int16_t* weights = weights_.data() + stride() * static_cast<size_t>(k) + at;
      for (size_t i = 0; i < kBlock; ++i) {
        const int so_far = static_cast<int>(parts[k][i] * sum[i] + 0.5f);
        const int weight = so_far - given[i];
        weights[i] = static_cast<int16_t>(weight < kOne ? weight : kOne - 1);
        given[i] = so_far;
      }
    }
  }
}

void AxisWeights::fill_one(size_t i, int64_t distance, int64_t support, int64_t pixel, const AxisRequest& request) {
  int64_t sum = 0;
  int begin = (range_.first + starts_[i]) * request.reduction - request.phase;  // of the sample, in the box
  for (int64_t& part : parts_) {
    const int inside = std::min(begin + request.reduction, request.in) - std::max(begin, 0);
    sum += std::max(int64_t{0}, support - std::abs(distance)) * inside;
    part = sum;
    distance += pixel;
    begin += request.reduction;
  }
  const double factor = kOne / static_cast<double>(sum);
  int16_t* weight = weights_.data() + i;
  int given = 0;
  for (const int64_t part : parts_) {
    const int so_far = static_cast<int>(static_cast<double>(part) * factor + 0.5);
    *weight = static_cast<int16_t>(std::min(so_far - given, kOne - 1));
    given = so_far;
    weight += stride();
  }
}

void AxisWeights::fill(const AxisWeights& luma, const HalvedAxis& axis) {
  const int last = axis.samples - 1, luma_first = axis.box_first + luma.range_.first;
  const int reach = axis.smooth ? 1 : 0;  // pixels beside a sample's own that it gives to
  range_.first = std::max(0, (luma_first - reach) >> 1);
  range_.end = std::min(last, (axis.box_first + luma.range_.end - 1 + reach) >> 1) + 1;
  resize(luma.count_, std::min(luma.taps_ / 2 + 2, range_.end - range_.first));
  if (axis.smooth) halve(luma, luma_first);
  for (size_t i = 0; i < count_; ++i) {
    const int begin = luma_first + luma.starts_[i], first = (begin - 1) >> 1;
    starts_[i] = first - range_.first;
    const bool inside = axis.smooth && first >= range_.first && first + luma.taps_ / 2 + 2 <= range_.end;
    if (!inside) halve_one(i, luma, begin, axis);
  }
}

// All wanted pixels at once, right for the pixels whose samples all exist. Pixel p gives 3/4 of its weight to sample
// p / 2 and 1/4 to the sample next to it; so sample c has 1, 3, 3 and 1 quarters of the pixels from 2c - 1.
void AxisWeights::halve(const AxisWeights& luma, int luma_first) {
  for (size_t at = 0; at < stride(); at += kBlock) {
    int even[kBlock], sums[kBlock], given[kBlock] = {};
    for (size_t i = 0; i < kBlock; ++i) even[i] = -(~(luma_first + luma.starts_[at + i]) & 1);
    for (int& sum : sums) sum = 2;
    const auto add = [&](int tap, int quarters) {  // `tap`: for an odd first pixel; one less for an even one
      static constexpr int16_t kNone[kBlock] = {};
      const auto taps_of = [&](int k) {
        return k < 0 || k >= luma.taps_ ? kNone
                                        : luma.weights(static_cast<int>(at)) + luma.stride() * static_cast<size_t>(k);
      };
      const int16_t *odd_ones = taps_of(tap), *even_ones = taps_of(tap - 1);
      for (size_t i = 0; i < kBlock; ++i) {
        sums[i] += quarters * ((even_ones[i] & even[i]) | (odd_ones[i] & ~even[i]));
      }
    };
    for (int c = 0; c < taps_; ++c) {
      add(2 * c - 2, 1);
      add(2 * c - 1, 3);
      add(2 * c, 3);
      add(2 * c + 1, 1);
      int16_t* weights = weights_.data() + stride() * static_cast<size_t>(c) + at;
      for (size_t i = 0; i < kBlock; ++i) {  // sums are rounded, as above
        const int so_far = sums[i] >> 2, weight = so_far - given[i];
        weights[i] = static_cast<int16_t>(weight < kOne ? weight : kOne - 1);
        given[i] = so_far;
      }
    }
  }
}

// One wanted pixel, beginning with `begin` of the picture, whose samples may lie at the plane's border.
void AxisWeights::halve_one(size_t i, const AxisWeights& luma, int begin, const HalvedAxis& axis) {
  const int last = axis.samples - 1;
  const int first = std::clamp((begin - (axis.smooth ? 1 : 0)) >> 1, range_.first, range_.end - taps_);
  starts_[i] = first - range_.first;
  std::fill(parts_.begin(), parts_.end(), 0);
  for (int k = 0; k < luma.taps_; ++k) {
    const int weight = luma.weight(static_cast<int>(i), k);
    if (weight == 0) continue;
    const int own = std::min((begin + k) >> 1, last);
    const int beside = axis.smooth ? std::clamp(own - 1 + 2 * ((begin + k) & 1), 0, last) : own;
    parts_[static_cast<size_t>(own - first)] += 3 * weight;
    parts_[static_cast<size_t>(beside - first)] += weight;
  }
  int16_t* weights = weights_.data() + i;
  int64_t sum = 2;
  int given = 0;
  for (const int64_t part : parts_) {
    sum += part;
    const int so_far = static_cast<int>(sum >> 2);
    *weights = static_cast<int16_t>(std::min(so_far - given, kOne - 1));
    given = so_far;
    weights += stride();
  }
}

}  // namespace spdld::image
