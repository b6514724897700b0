#include <cstdlib>

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomCrop final : public GeometryStep {
 public:
  explicit RandomCrop(const config::OperationSpec& op) : size_(size_of(op)), draw_(draw_of(op)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    Draw draw = draws.named(draw_);
    const int y = start(now.height, size_.height, draw);
    const int x = start(now.width, size_.width, draw);
    crop_box({x, y, size_.width, size_.height}, geometry.passes);
  }

 private:
  // torchvision's RandomCrop.get_params, with our own numbers: every place is as likely as the others. With its
  // pad_if_needed, a smaller picture has every place inside of the box.
  static int start(int side, int wanted, Draw& draw) {
    const int room = std::abs(side - wanted);
    const auto drawn = static_cast<int>(draw.below(static_cast<uint64_t>(room) + 1));
    return side < wanted ? drawn - room : drawn;
  }

  Size size_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomCrop>(placed.spec));
}

}  // namespace spdld::media::ops
