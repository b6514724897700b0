// Resampling of pixels of any format, in float: of alpha, of 16 bits and of floats, which the kernels of resample.h do
// not take, and by bicubic without antialias. The weights are Pillow's triangle filter (libImaging/Resample.c,
// precompute_coeffs) without fixed point, or another filter's (filter.h); the result is rounded once, to the nearest
// value, halves up, and cut off at the format's least and greatest value; floats stay as they come out. Every channel
// is resampled by itself, alpha too, as in torchvision's resize of tensors. One thread an object, reused from sample to
// sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/media/image/kernels/tap_weights.h"

namespace spdld::image {

// The version of this code: raised when it gives other bytes.
constexpr int kAnyResamplerVersion = 1;

class FloatWeights final : public TapWeights<float> {
 public:
  // Precondition: request.reduction is 1, and the filter is not kNearest.
  void fill(const AxisRequest& request);
};

class AnyResampler {
 public:
  void begin(const AxisRequest& across, const AxisRequest& down);
  const SourceRange& across() const { return across_.range(); }
  const SourceRange& down() const { return down_.range(); }

  // Writes wanted row `y`. `first`: the source's sample at (across().first, down().first), aligned to its type.
  void row(const PixelFormat& format, const uint8_t* first, size_t stride_bytes, int y, uint8_t* out);

 private:
  template <typename Sample, int kChannels>
  void make_row(const uint8_t* first, size_t stride_bytes, int y, Sample* out);

  FloatWeights across_, down_;
  int width_ = 0;            // of a wanted row
  std::vector<float> sums_;  // a source row's samples, summed over rows
};

}  // namespace spdld::image
