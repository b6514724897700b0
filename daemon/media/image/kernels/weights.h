// The weights of one axis of a resampling: Pillow's triangle filter (libImaging/Resample.c, precompute_coeffs), in
// 16-bit fixed point; for chroma of half the size they are joined with libjpeg's upsampling. Reused from sample to
// sample by one decode thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/media/image/kernels/filter.h"

namespace spdld::image {

// `in` source pixels become `out` pixels. The pixels [first, first + count) of these are wanted.
//
// The source may be reduced: each of its samples is the mean of `reduction` pixels, and the first sample's pixels begin
// `phase` before the box. The triangle is then taken at the samples' middles, in the box's pixels. So all samples are
// at their true places, even where the box begins within a sample. A sample at the box's edge counts by the part of it
// that is inside.
struct AxisRequest {
  int in = 1, out = 1;
  int first = 0, count = 1;
  bool mirrored = false;  // wanted pixels in reverse order
  bool antialias = true;
  int reduction = 1, phase = 0;  // phase < reduction; reduction > 1: in > reduction * out, and kBilinear
  Filter filter = Filter::kBilinear;

  int samples() const { return (phase + in + reduction - 1) / reduction; }  // source samples that the box touches
};

// The source samples [first, end) that a request needs.
struct SourceRange {
  int first = 0, end = 0;
};
SourceRange source_range(const AxisRequest& request);

// One axis of a chroma plane that has half as many samples as the picture has pixels.
struct HalvedAxis {
  int samples = 1;    // of the plane
  int box_first = 0;  // where the box of the request for luma begins, in the picture
  // libjpeg's fancy upsampling (jdsample.c): a pixel is 3/4 of its own sample and 1/4 of the next sample; at the
  // picture's border it is its own sample. False: a pixel is always its own sample.
  bool smooth = true;
};

class AxisWeights {
 public:
  // Precondition: the filter is kBilinear.
  void fill(const AxisRequest& request);
  // The chroma weights for the resampling that `luma` does for luma, as if the whole plane were upsampled first.
  // range() is in the plane's samples then.
  void fill(const AxisWeights& luma, const HalvedAxis& axis);

  static constexpr int kOne = 1 << 15;  // a weight of 1 (a single tap has 1 - 2^-15: it would not fit)

  const SourceRange& range() const { return range_; }
  int count() const { return static_cast<int>(count_); }
  // The wanted pixel i is the sum of weight(i, k) * source[range().first + start(i) + k], k < taps(). All pixels have
  // the same number of taps, and some weights may be 0: loops over them are then easy to predict.
  int taps() const { return taps_; }
  int start(int i) const { return starts_[static_cast<size_t>(i)]; }
  int16_t weight(int i, int k) const { return weights(i)[static_cast<size_t>(k) * stride()]; }
  const int16_t* weights(int i) const { return weights_.data() + static_cast<size_t>(i); }  // of tap 0
  size_t stride() const { return starts_.size(); }                                          // from tap to tap

 private:
  void resize(size_t count, int taps);
  void fill_few(float support, float pixel);
  void fill_one(size_t i, int64_t distance, int64_t support, int64_t pixel, const AxisRequest& request);
  void halve(const AxisWeights& luma, int luma_first);
  void halve_one(size_t i, const AxisWeights& luma, int begin, const HalvedAxis& axis);

  SourceRange range_;
  int taps_ = 0;
  size_t count_ = 0;
  std::vector<int> starts_;       // rounded up to whole blocks, as the weights of each tap
  std::vector<int16_t> weights_;  // of all wanted pixels for tap 0, then for tap 1, ...
  std::vector<int> distances_;    // from each wanted pixel's centre to its first tap's
  std::vector<int64_t> parts_;    // of one wanted pixel
};

}  // namespace spdld::image
