#include <algorithm>
#include <cmath>
#include <cstring>

#include "daemon/base/beta.h"
#include "daemon/mixing/operations.h"

namespace spdld::mixing {
namespace {

class Cutmix final : public Operation {
 public:
  explicit Cutmix(const PlacedOperation& placed)
      : alpha_(placed.spec.number("alpha")), shape_(shape_of(placed.images.front())) {
    for (const config::Signature& image : placed.images) {
      const bool is_planar = layout_of(image) == config::Layout::kNchw;
      const uint64_t channels = shape_of(image).channels, element = config::dtype_bytes(image.dtype());
      images_.push_back({is_planar ? element : channels * element, is_planar ? channels : 1});
    }
  }

 private:
  struct Image {
    uint64_t pixel_bytes;
    uint64_t planes;
  };

  // The box has the side ratio of the picture and the area 1 - lam of it; where it reaches beyond the picture it is cut
  // off, and lam says what is left.
  Mix draw(const Draws& draws) const override {
    Draw draw = draws.named(draw_key("cutmix"));
    const double ratio = 0.5 * std::sqrt(1.0 - draw_beta(draw, alpha_));
    const uint64_t x = draw.below(shape_.width), y = draw.below(shape_.height);
    const auto half_width = static_cast<uint64_t>(ratio * static_cast<double>(shape_.width));
    const auto half_height = static_cast<uint64_t>(ratio * static_cast<double>(shape_.height));
    const Box box{x - std::min(x, half_width), y - std::min(y, half_height), std::min(x + half_width, shape_.width),
                  std::min(y + half_height, shape_.height)};
    const auto area = static_cast<double>((box.right - box.left) * (box.bottom - box.top));
    return {.lam = 1.0 - area / static_cast<double>(shape_.width * shape_.height), .box = box};
  }

  void mix(const Mix& mix, size_t image, uint8_t* own, std::span<const uint8_t* const> partners) const override {
    const auto [pixel_bytes, planes] = images_[image];
    const uint64_t row_bytes = shape_.width * pixel_bytes, bytes = (mix.box.right - mix.box.left) * pixel_bytes;
    for (uint64_t plane = 0; plane < planes; plane++)
      for (uint64_t row = mix.box.top; row < mix.box.bottom; row++) {
        const uint64_t at = (plane * shape_.height + row) * row_bytes + mix.box.left * pixel_bytes;
        std::memcpy(own + at, partners.front() + at, bytes);
      }
  }

  double alpha_;
  config::PictureShape shape_;  // all images have this height and width
  std::vector<Image> images_;
};

}  // namespace

namespace ops {

std::unique_ptr<Operation> cutmix(const PlacedOperation& placed) { return std::make_unique<Cutmix>(placed); }

}  // namespace ops

}  // namespace spdld::mixing
