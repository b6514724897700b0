#include "daemon/media/audio/convolution.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <kissfft/kissfft.hh>
#include <vector>

namespace spdld::audio {
namespace {

using Bin = std::complex<float>;

constexpr size_t kSizeMin = 1024;

}  // namespace

struct Convolution::Transforms {
  explicit Transforms(size_t transform_size)
      : size(transform_size), forward(size, false), inverse(size, true), response(size), block(size), bins(size) {}

  const size_t size;
  kissfft<float> forward, inverse;
  std::vector<Bin> response, block, bins;
};

Convolution::Convolution() = default;
Convolution::~Convolution() = default;

// The response is real, so that the real parts of a block and its imaginary parts are convolved apart: a transform does
// two blocks.
void Convolution::run(std::span<const float> samples, std::span<const float> response, size_t shift,
                      std::span<float> to) {
  const size_t longest = std::min(response.size(), samples.size() + shift);  // further values meet silence alone
  const size_t size = std::max(kSizeMin, std::bit_ceil(2 * longest));
  if (!transforms_ || transforms_->size != size) transforms_ = std::make_unique<Transforms>(size);
  Transforms& with = *transforms_;
  std::fill(with.block.begin(), with.block.end(), Bin());
  std::copy_n(response.begin(), longest, with.block.begin());
  with.forward.transform(with.block.data(), with.response.data());
  const size_t history = longest - 1, step = size - history;
  const auto sample_at = [&](int64_t at) {
    return at >= 0 && at < static_cast<int64_t>(samples.size()) ? samples[static_cast<size_t>(at)] : 0.0f;
  };
  for (size_t first = 0; first < to.size(); first += 2 * step) {
    const auto begin = static_cast<int64_t>(first + shift) - static_cast<int64_t>(history);
    for (size_t i = 0; i < size; ++i) {
      const int64_t at = begin + static_cast<int64_t>(i);
      with.block[i] = {sample_at(at), sample_at(at + static_cast<int64_t>(step))};
    }
    with.forward.transform(with.block.data(), with.bins.data());
    for (size_t k = 0; k < size; ++k) with.bins[k] *= with.response[k];
    with.inverse.transform(with.bins.data(), with.block.data());
    const float scale = 1 / static_cast<float>(size);
    for (size_t i = 0; i < step && first + i < to.size(); ++i) to[first + i] = with.block[history + i].real() * scale;
    for (size_t i = 0; i < step && first + step + i < to.size(); ++i)
      to[first + step + i] = with.block[history + i].imag() * scale;
  }
}

void Convolution::shrink(size_t bytes_max) {
  if (transforms_ && transforms_->size * 5 * sizeof(Bin) > bytes_max) transforms_.reset();
}

}  // namespace spdld::audio
