#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomRotation final : public WarpStep {
 public:
  explicit RandomRotation(const config::OperationSpec& op)
      : WarpStep(op), degrees_(range_of(op, "degrees")), expands_(op.flag("expand")), center_(center_of(op)) {}

 private:
  Warp draw_warp(Draw& draw, const Size& picture) const override {
    return rotate_warp(picture, degrees_.from(draw), center_, expands_);
  }

  Range degrees_;
  bool expands_;
  std::optional<Place> center_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void rotate(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomRotation>(placed.spec));
}

}  // namespace spdld::media::ops
