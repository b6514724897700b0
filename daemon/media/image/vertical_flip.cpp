#include "daemon/media/image/geometry.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class VerticalFlip final : public GeometryStep {
 public:
  explicit VerticalFlip(const config::OperationSpec& op) : probability_(op.number("p")), draw_(draw_of(op)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    Pass& last = geometry.passes.back();
    const bool flips = draws.named(draw_).uniform(0, 1) < probability_;
    last.flipped = last.flipped != flips;
  }

 private:
  double probability_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void vertical_flip(const Part& part, Nodes& nodes) {
  image::picture_node(nodes).add(std::make_unique<image::VerticalFlip>(part.spec));
}

}  // namespace spdld::media::ops
