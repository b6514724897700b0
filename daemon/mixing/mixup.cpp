#include <functional>
#include <numeric>

#include "daemon/base/beta.h"
#include "daemon/mixing/operations.h"
#include "daemon/mixing/rows.h"

namespace spdld::mixing {
namespace {

class Mixup final : public Operation {
 public:
  explicit Mixup(const PlacedOperation& placed) : alpha_(placed.spec.number("alpha")) {
    for (const config::Signature& image : placed.images) {
      const auto shape = image.shape();
      const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      images_.push_back({image.dtype(), static_cast<size_t>(elements)});
    }
  }

 private:
  struct Image {
    config::DType dtype;
    size_t elements;
  };

  Mix draw(const Draws& draws) const override {
    Draw draw = draws.named(draw_key("mixup"));
    return {.lam = draw_beta(draw, alpha_)};
  }
  void mix(const Mix& mix, size_t image, uint8_t* own, std::span<const uint8_t* const> partners) const override {
    mix_rows(images_[image].dtype, mix.lam, images_[image].elements, own, partners.front());
  }

  double alpha_;
  std::vector<Image> images_;
};

}  // namespace

namespace ops {

std::unique_ptr<Operation> mixup(const PlacedOperation& placed) { return std::make_unique<Mixup>(placed); }

}  // namespace ops

}  // namespace spdld::mixing
