#include "daemon/media/image/kernels/resample_fixed.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/image/kernels/fixed_rows.h"

namespace spdld::image {
namespace {

// Halves away from zero.
int32_t fixed(double weight) {
  const double scaled = weight * (1 << FixedWeights::kFractionBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

void FixedWeights::fill(const AxisRequest& request) {
  begin(request);
  for (int n = 0; n < request.count; ++n) add_pixel(request, n, fixed);
}

void SplitWeights::fill(const FixedWeights& axis) {
  int taps = 1;
  for (int i = 0; i < axis.count(); ++i) taps = std::max(taps, axis.taps(i));
  groups_ = (taps + kTaps - 1) / kTaps;
  parts_.assign(static_cast<size_t>(axis.count()) * static_cast<size_t>(groups_ * kParts), 0);
  for (int i = 0; i < axis.count(); ++i) {
    int16_t* const to = parts_.data() + static_cast<ptrdiff_t>(i) * groups_ * kParts;
    for (int k = 0; k < axis.taps(i); ++k) {
      int16_t* const lower = to + k / kTaps * kParts + k % kTaps;
      lower[0] = static_cast<int16_t>(axis.weights(i)[k] & ((1 << kLowerBits) - 1));
      lower[kTaps] = static_cast<int16_t>(axis.weights(i)[k] >> kLowerBits);
    }
  }
}

void FixedResampler::begin(const AxisRequest& across, const AxisRequest& down, int channels) {
  across_.fill(across);
  split_.fill(across_);
  down_.fill(down);
  channels_ = channels;
  width_ = across.count;
  row_samples_ = static_cast<size_t>(width_) * static_cast<size_t>(channels);
  line_bytes_ = row_samples_ + kCrossSlack;
  taken_bytes_ = static_cast<size_t>(across_.range().end - across_.range().first) * static_cast<size_t>(channels);
  std::memset(row_.resize(taken_bytes_ + cross_slack(split_)) + taken_bytes_, 0, cross_slack(split_));
  shrinks_ = down.in > down.out;
  taken_ = given_ = 0;
  lines_kept_ = 1;
  // Lines are kept where few belong to a wanted row, and sums where few wanted rows belong to a line.
  for (int y = 0; y < down_.count() && !shrinks_; ++y) lines_kept_ = std::max(lines_kept_, down_.taps(y));
  lines_.resize(static_cast<size_t>(lines_kept_) * line_bytes_);
  sums_.resize((shrinks_ ? kSumsKept : 1) * row_samples_);
}

void FixedResampler::cross(const uint8_t* row, uint8_t* out) {
  std::memcpy(row_.data(), row, taken_bytes_);
  cross_row(across_, split_, channels_, row_.data(), out);
}

void FixedResampler::shrunk_row(const uint8_t* first, size_t stride_bytes, int y) {
  for (; taken_ < down_.end(y); ++taken_) {
    cross(first + stride_bytes * static_cast<size_t>(taken_), line(taken_));
    for (int wanted = y; wanted < down_.count() && down_.start(wanted) <= taken_; ++wanted) {
      const int k = taken_ - down_.start(wanted);
      if (k == 0) std::fill_n(sums(wanted), row_samples_, kHalfSum);
      if (k < down_.taps(wanted)) add_line(line(taken_), down_.weights(wanted)[k], row_samples_, sums(wanted));
    }
  }
}

void FixedResampler::grown_row(const uint8_t* first, size_t stride_bytes, int y) {
  taken_ = std::max(taken_, down_.start(y));
  for (; taken_ < down_.end(y); ++taken_) cross(first + stride_bytes * static_cast<size_t>(taken_), line(taken_));
  std::fill_n(sums(0), row_samples_, kHalfSum);
  for (int k = 0; k < down_.taps(y); ++k)
    add_line(line(down_.start(y) + k), down_.weights(y)[k], row_samples_, sums(0));
}

void FixedResampler::next_row(const uint8_t* first, size_t stride_bytes, uint8_t* out) {
  const int y = given_++;
  shrinks_ ? shrunk_row(first, stride_bytes, y) : grown_row(first, stride_bytes, y);
  round_sums(sums(shrinks_ ? y : 0), row_samples_, out);
}

}  // namespace spdld::image
