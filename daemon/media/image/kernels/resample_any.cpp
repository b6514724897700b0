#include "daemon/media/image/kernels/resample_any.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace spdld::image {
namespace {

// sums += weight * samples. A loop that compilers turn into vectors.
template <typename Sample>
void add_row(const Sample* samples, float weight, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(samples[i]);
}

template <typename Sample>
Sample rounded(float value) {
  if constexpr (std::is_floating_point_v<Sample>) {
    return value;
  } else {
    constexpr float kWhite = std::numeric_limits<Sample>::max();
    return static_cast<Sample>(std::clamp(value + 0.5f, 0.0f, kWhite));
  }
}

// The triangle's height at a distance from its middle, where it reaches 1 to each side.
double triangle(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

}  // namespace

void FloatWeights::fill(const AxisRequest& request) {
  begin(request);
  const double scale = static_cast<double>(request.in) / request.out;
  const double reach = request.antialias ? std::max(scale, 1.0) : 1;
  for (int n = 0; n < request.count; ++n) {
    if (request.filter != Filter::kBilinear) {
      add_pixel(request, n, [](double weight) { return static_cast<float>(weight); });
      continue;
    }
    if (request.in == request.out) {
      begin_pixel(request, n, range().first + n, 1);
      add(1);
      continue;
    }
    const double centre = (request.first + n + 0.5) * scale;
    const int first = std::max(range().first, static_cast<int>(std::floor(centre - reach + 0.5)));
    const int end = std::min(range().end, static_cast<int>(std::floor(centre + reach + 0.5)));
    begin_pixel(request, n, first, end - first);
    double sum = 0;
    for (int x = first; x < end; ++x) sum += triangle((x + 0.5 - centre) / reach);
    for (int x = first; x < end; ++x) add(static_cast<float>(triangle((x + 0.5 - centre) / reach) / sum));
  }
}

void AnyResampler::begin(const AxisRequest& across, const AxisRequest& down) {
  across_.fill(across);
  down_.fill(down);
  width_ = across.count;
}

template <typename Sample, int kChannels>
void AnyResampler::make_row(const uint8_t* first, size_t stride_bytes, int y, Sample* out) {
  const auto samples = static_cast<size_t>(across_.range().end - across_.range().first) * kChannels;
  sums_.assign(samples, 0);
  const uint8_t* row = first + stride_bytes * static_cast<size_t>(down_.start(y));
  for (int k = 0; k < down_.taps(y); ++k, row += stride_bytes)
    add_row(reinterpret_cast<const Sample*>(row), down_.weights(y)[k], samples, sums_.data());
  for (int x = 0; x < width_; ++x, out += kChannels) {
    float sum[kChannels] = {};
    const float* from = sums_.data() + static_cast<size_t>(across_.start(x)) * kChannels;
    const float* weights = across_.weights(x);
    for (int k = 0; k < across_.taps(x); ++k, from += kChannels) {
      for (int c = 0; c < kChannels; ++c) sum[c] += weights[k] * from[c];
    }
    for (int c = 0; c < kChannels; ++c) out[c] = rounded<Sample>(sum[c]);
  }
}

void AnyResampler::row(const PixelFormat& format, const uint8_t* first, size_t stride_bytes, int y, uint8_t* out) {
  if (format.sample_bytes == 1) {
    if (format.channels == 1) return make_row<uint8_t, 1>(first, stride_bytes, y, out);
    if (format.channels == 3) return make_row<uint8_t, 3>(first, stride_bytes, y, out);
    return make_row<uint8_t, 4>(first, stride_bytes, y, out);
  }
  if (format.sample_bytes == 4) {
    auto* const floats = reinterpret_cast<float*>(out);
    return format.channels == 1 ? make_row<float, 1>(first, stride_bytes, y, floats)
                                : make_row<float, 3>(first, stride_bytes, y, floats);
  }
  auto* const to = reinterpret_cast<uint16_t*>(out);
  if (format.channels == 1) return make_row<uint16_t, 1>(first, stride_bytes, y, to);
  if (format.channels == 3) return make_row<uint16_t, 3>(first, stride_bytes, y, to);
  make_row<uint16_t, 4>(first, stride_bytes, y, to);
}

}  // namespace spdld::image
