#include <algorithm>

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomSizeCrop final : public GeometryStep {
 public:
  explicit RandomSizeCrop(const config::OperationSpec& op)
      : least_(static_cast<int>(op.numbers("sides")[0])),
        greatest_(static_cast<int>(op.numbers("sides")[1])),
        draw_(draw_of(op)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    Draw draw = draws.named(draw_);
    const int width = length(now.width, draw), height = length(now.height, draw);
    const int y = upto(now.height - height, draw), x = upto(now.width - width, draw);
    crop_box({x, y, width, height}, geometry.passes);
  }

 private:
  static int upto(int most, Draw& draw) { return static_cast<int>(draw.below(static_cast<uint64_t>(most) + 1)); }
  // DETR's RandomSizeCrop, with our own numbers: the width is drawn before the height. A side that is shorter than the
  // least length stays whole.
  int length(int side, Draw& draw) const {
    const int greatest = std::min(side, greatest_), least = std::min(side, least_);
    return least + upto(greatest - least, draw);
  }

  int least_, greatest_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_size_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomSizeCrop>(placed.spec));
}

}  // namespace spdld::media::ops
