// The weights of one axis of a resampling, where wanted pixels may have different numbers of taps. One thread an
// object, reused from sample to sample.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/media/image/kernels/filter.h"
#include "daemon/media/image/kernels/weights.h"

namespace spdld::image {

// Wanted pixel i is the sum of weights(i)[k] * source[start(i) + k], k < taps(i), where the source counts from
// range().first.
template <typename Number>
class TapWeights {
 public:
  const SourceRange& range() const { return range_; }
  int count() const { return static_cast<int>(spans_.size()); }
  int start(int i) const { return spans_[static_cast<size_t>(i)].start; }
  int taps(int i) const { return spans_[static_cast<size_t>(i)].taps; }
  int end(int i) const { return start(i) + taps(i); }
  const Number* weights(int i) const { return weights_.data() + spans_[static_cast<size_t>(i)].first_weight; }

 protected:
  // Forgets the weights of the request before.
  void begin(const AxisRequest& request) {
    range_ = source_range(request);
    spans_.resize(static_cast<size_t>(request.count));
    weights_.clear();
  }
  // Wanted pixel n, before it is mirrored, has `taps` taps, from the box's pixel `first` on. add() gives their weights
  // next.
  void begin_pixel(const AxisRequest& request, int n, int first, int taps) {
    const int i = request.mirrored ? request.count - 1 - n : n;
    spans_[static_cast<size_t>(i)] = {first - range_.first, taps, weights_.size()};
  }
  void add(Number weight) { weights_.push_back(weight); }
  // All of wanted pixel n, by PixelWeights. Precondition: as of PixelWeights::make().
  template <typename Convert>
  void add_pixel(const AxisRequest& request, int n, Convert convert) {
    one_.make(request, request.first + n);
    begin_pixel(request, n, one_.first(), static_cast<int>(one_.weights().size()));
    for (const double weight : one_.weights()) add(convert(weight));
  }

 private:
  struct Span {
    int start, taps;
    size_t first_weight;
  };

  SourceRange range_;
  PixelWeights one_;
  std::vector<Span> spans_;
  std::vector<Number> weights_;
};

}  // namespace spdld::image
