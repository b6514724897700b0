// The weights of one axis of a resampling: Pillow's triangle filter (libImaging/Resample.c, precompute_coeffs), in
// 16-bit fixed point. Reused from sample to sample by one decode thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spdld::transform {

// `in` source pixels become `out`, of which [first, first + count) are wanted.
struct AxisRequest {
  int in = 1, out = 1;
  int first = 0, count = 1;
  bool mirrored = false;  // wanted pixels in reverse order
  bool antialias = true;
};

// The source pixels [first, end) that a request needs.
struct SourceRange {
  int first = 0, end = 0;
};
SourceRange source_range(const AxisRequest& request);

class AxisWeights {
 public:
  void fill(const AxisRequest& request);

  static constexpr int kOne = 1 << 15;  // a weight of 1 (a single tap has 1 - 2^-15: it would not fit)

  const SourceRange& range() const { return range_; }
  int count() const { return static_cast<int>(taps_.size()); }
  // The wanted pixel i is the sum of weights(i)[k] * source[range().first + start(i) + k], k < taps(i).
  int start(int i) const { return taps_[static_cast<size_t>(i)].start; }
  int taps(int i) const { return taps_[static_cast<size_t>(i)].count; }
  const int16_t* weights(int i) const { return weights_.data() + taps_[static_cast<size_t>(i)].offset; }

 private:
  struct Taps {
    int start, count;
    size_t offset;  // into weights_
  };

  SourceRange range_;
  std::vector<Taps> taps_;
  std::vector<int16_t> weights_;
  std::vector<double> exact_;
};

}  // namespace spdld::transform
