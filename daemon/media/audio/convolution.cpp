#include "daemon/media/audio/convolution.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "daemon/media/signal/fourier.h"

namespace spdld::audio {
namespace {

constexpr size_t kTransformMin = 256;
constexpr uint64_t kValuesInANs = 1;      // that are transformed forth and back, about
constexpr size_t kPairs = kLanes<float>;  // of complex numbers, which are transformed together
// Real series: the response stands in the last lane, and each other lane has a block as its real parts and another one
// as its imaginary parts. The response is real, so that the two stay apart.
constexpr size_t kBlocksAtOnce = 2 * (kPairs - 1);

// The float of a row: of its real parts, and behind these of its imaginary parts.
constexpr size_t place_of(size_t block) { return block % 2 * kPairs + block / 2; }

}  // namespace

struct Convolution::Transform {
  explicit Transform(size_t its_size)
      : size(its_size), fourier(size), values(floats()), work(floats()), response(2 * size) {}

  size_t floats() const { return size * 2 * kPairs; }
  size_t bytes() const { return (2 * floats() + response.size()) * sizeof(float); }

  // Of `values`, which the response's last lane is taken from the first time.
  void note_response(const float* bins) {
    for (size_t k = 0; k < size; ++k) {
      response[2 * k] = bins[k * 2 * kPairs + kPairs - 1];
      response[2 * k + 1] = bins[(k * 2 + 1) * kPairs + kPairs - 1];
    }
  }

  // Multiplies by the response. Real and imaginary parts change places, which makes the next transform the inverse one.
  void multiply(float* bins) const {
    for (size_t k = 0; k < size; ++k) {
      float* const re = bins + k * 2 * kPairs;
      float* const im = re + kPairs;
      const float response_re = response[2 * k], response_im = response[2 * k + 1];
      for (size_t i = 0; i < kPairs; ++i) {
        const float product_re = re[i] * response_re - im[i] * response_im;
        const float product_im = re[i] * response_im + im[i] * response_re;
        re[i] = product_im;
        im[i] = product_re;
      }
    }
  }

  const size_t size;
  const Fourier<float> fourier;
  std::vector<float> values, work, response;
};

Convolution::Convolution() = default;
Convolution::~Convolution() = default;

namespace {

size_t transform_size(size_t samples, size_t response, size_t shift) {
  const size_t longest = std::min(response, samples + shift);  // further values meet silence alone
  return std::max(kTransformMin, std::bit_ceil(2 * longest));
}

}  // namespace

uint64_t Convolution::bytes_of(size_t samples, size_t response, size_t shift) {
  constexpr uint64_t kFactors = 4;  // of the transform's own, for each of its values
  return transform_size(samples, response, shift) * (2 * 2 * kPairs + 2 + kFactors) * sizeof(float);
}

void Convolution::run(std::span<const float> samples, std::span<const float> response, size_t shift,
                      std::span<float> to, media::WorkGuard* guard) {
  const size_t longest = std::min(response.size(), samples.size() + shift);  // further values meet silence alone
  const size_t size = transform_size(samples.size(), response.size(), shift);
  if (!transform_ || transform_->size != size) transform_ = std::make_unique<Transform>(size);
  Transform& with = *transform_;
  const size_t history = longest - 1, step = size - history, row = 2 * kPairs;
  for (size_t first = 0; first < to.size(); first += kBlocksAtOnce * step) {
    media::spend(guard, with.floats(), kValuesInANs);
    std::fill(with.values.begin(), with.values.end(), 0.0f);
    for (size_t block = 0; block < kBlocksAtOnce; ++block) {
      const auto begin = static_cast<int64_t>(first + block * step + shift) - static_cast<int64_t>(history);
      const auto from = std::clamp<int64_t>(begin, 0, static_cast<int64_t>(samples.size()));
      const auto end =
          std::clamp<int64_t>(begin + static_cast<int64_t>(size), from, static_cast<int64_t>(samples.size()));
      if (from == end) continue;  // all of it is silent
      float* at = with.values.data() + static_cast<size_t>(from - begin) * row + place_of(block);
      for (int64_t i = from; i < end; ++i, at += row) *at = samples[static_cast<size_t>(i)];
    }
    for (size_t k = 0; first == 0 && k < longest; ++k) with.values[k * row + kPairs - 1] = response[k];
    float* const bins = with.fourier.run(with.values.data(), with.work.data());
    if (first == 0) with.note_response(bins);
    with.multiply(bins);
    const float* const made =
        with.fourier.run(bins, bins == with.values.data() ? with.work.data() : with.values.data());
    for (size_t block = 0; block < kBlocksAtOnce && first + block * step < to.size(); ++block) {
      const size_t at = first + block * step, count = std::min(step, to.size() - at);
      // The imaginary part of a row stands in its first half now.
      const float* from = made + history * row + place_of(block % 2 == 0 ? block + 1 : block - 1);
      for (size_t i = 0; i < count; ++i, from += row) to[at + i] = *from / static_cast<float>(size);
    }
  }
}

void Convolution::shrink(size_t bytes_max) {
  if (transform_ && transform_->bytes() > bytes_max) transform_.reset();
}

}  // namespace spdld::audio
