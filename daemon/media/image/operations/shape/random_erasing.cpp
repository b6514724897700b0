// random-erasing: a node of its own, which writes over a box of the tensor that the picture's node has written.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "config/text/element.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// The quantiles of the normal distribution at the middles of so many equal parts: a uniform choice of one of them is
// normal noise. It differs from the distribution function by at most half a part.
class NormalTable {
 public:
  static constexpr size_t kParts = 1 << 14;

  static std::vector<double> quantiles() {
    std::vector<double> all(kParts);
    double x = 0;
    for (size_t i = kParts / 2; i < kParts; ++i) {
      x = quantile((static_cast<double>(i) + 0.5) / kParts, x);
      all[i] = x;
      all[kParts - 1 - i] = -x;
    }
    return all;
  }

 private:
  // By Newton's method, from the quantile of the part before.
  static double quantile(double part, double x) {
    for (int i = 0; i < 8; ++i) {
      const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
      const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      x -= (below - part) / density;
    }
    return x;
  }
};

// Writes elements of `Bits`, whatever type these stand for.
template <typename Bits>
class RandomErasing final : public media::Node {
 public:
  explicit RandomErasing(const media::PlacedOperation& placed)
      : layout_(*layout_of(placed.takes)),
        scale_(pair_of(placed.spec, "scale")),
        ratio_(pair_of(placed.spec, "ratio")),
        probability_(placed.spec.number("p")),
        draw_(draw_of(placed.spec)) {
    const std::vector<int64_t> shape = placed.takes.shape();
    const bool is_planar = layout_ == config::Layout::kNchw;
    channels_ = static_cast<size_t>(is_planar ? shape[0] : shape[2]);
    size_ = {static_cast<int>(shape[is_planar ? 2 : 1]), static_cast<int>(shape[is_planar ? 1 : 0])};
    const auto& values = placed.spec.numbers("value");
    for (size_t c = 0; c < channels_; ++c) values_[c] = bits_of(placed.takes.dtype(), values[c % values.size()]);
    is_noisy_ = placed.spec.text("noise") == "pixel";
    has_colours_drawn_ = placed.spec.text("noise") == "channel";
    if (!is_noisy_ && !has_colours_drawn_) return;
    for (const double each : NormalTable::quantiles()) noise_.push_back(bits_of(placed.takes.dtype(), each));
  }

  Status run(media::Value&, const media::Call& call) const override {
    Draw draw = call.draws.named(draw_);
    if (draw.uniform(0, 1) >= probability_) return Done{};
    if (const std::optional<Box> box = draw_box(draw)) erase(*box, draw, call.tensors.front().at());
    return Done{};
  }

 private:
  struct Pair {
    double least, greatest;
  };
  static Pair pair_of(const config::OperationSpec& op, std::string_view name) {
    return {op.numbers(name)[0], op.numbers(name)[1]};
  }
  static Bits bits_of(config::DType dtype, double value) {
    const std::vector<uint8_t> bytes = config::element_of(dtype, value).value();
    Bits bits;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return bits;
  }

  // torchvision's RandomErasing.get_params, with our own numbers. None: ten boxes were too large.
  std::optional<Box> draw_box(Draw& draw) const {
    const double area = static_cast<double>(size_.width) * size_.height;
    for (int i = 0; i < 10; ++i) {
      const double erased = area * draw.uniform(scale_.least, scale_.greatest);
      const double ratio = std::exp(draw.uniform(std::log(ratio_.least), std::log(ratio_.greatest)));
      const int height = round_even(std::sqrt(erased * ratio)), width = round_even(std::sqrt(erased / ratio));
      if (height >= size_.height || width >= size_.width) continue;
      const auto y = static_cast<int>(draw.below(static_cast<uint64_t>(size_.height - height) + 1));
      const auto x = static_cast<int>(draw.below(static_cast<uint64_t>(size_.width - width) + 1));
      return Box{x, y, width, height};
    }
    return {};
  }

  void erase(const Box& box, Draw& draw, uint8_t* memory) const {
    std::array<Bits, 4> values = values_;
    uint64_t seed = draw.bits64();
    if (has_colours_drawn_)
      for (size_t c = 0; c < channels_; ++c) values[c] = noise_[draw.below(NormalTable::kParts)];
    // The rows of a plane, or of all channels together.
    const bool is_planar = layout_ == config::Layout::kNchw;
    const size_t planes = is_planar ? channels_ : 1, together = is_planar ? 1 : channels_;
    const size_t row_elements = static_cast<size_t>(size_.width) * together;
    const size_t count = static_cast<size_t>(box.width) * together;
    for (size_t plane = 0; plane < planes; ++plane) {
      for (int y = 0; y < box.height; ++y) {
        const size_t row = plane * static_cast<size_t>(size_.height) + static_cast<size_t>(box.y + y);
        auto* const at = reinterpret_cast<Bits*>(memory) + row * row_elements + static_cast<size_t>(box.x) * together;
        if (is_noisy_) {
          write_noise(at, count, seed);
        } else {
          for (size_t i = 0; i < count; ++i) at[i] = values[plane + i % together];
        }
      }
    }
  }

  // Four elements of each 64 bits.
  void write_noise(Bits* at, size_t count, uint64_t& seed) const {
    for (size_t i = 0; i < count; i += 4) {
      uint64_t bits = mix_bits(seed++);
      for (size_t k = i; k < std::min(i + 4, count); ++k, bits >>= 16) at[k] = noise_[bits % NormalTable::kParts];
    }
  }

  config::Layout layout_;
  Pair scale_, ratio_;
  double probability_;
  uint64_t draw_;  // key
  size_t channels_ = 0;
  Size size_;
  std::array<Bits, 4> values_{};  // by channel
  bool is_noisy_ = false, has_colours_drawn_ = false;
  std::vector<Bits> noise_;  // elements of NormalTable
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

// Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
void random_erasing(const PlacedOperation& placed, Nodes& nodes) {
  switch (config::dtype_bytes(placed.takes.dtype())) {
    case 1:
      return nodes.push_back(std::make_unique<image::RandomErasing<uint8_t>>(placed));
    case 2:
      return nodes.push_back(std::make_unique<image::RandomErasing<uint16_t>>(placed));
    default:
      return nodes.push_back(std::make_unique<image::RandomErasing<uint32_t>>(placed));
  }
}

}  // namespace spdld::media::ops
