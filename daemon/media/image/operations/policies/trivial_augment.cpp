#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/operations/policies/augment.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class TrivialAugment final : public AdjustingStep {
 public:
  explicit TrivialAugment(const config::OperationSpec& op)
      : AdjustingStep(op), bins_(static_cast<int>(op.integer("bins"))), look_(look_of(op)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    const Size picture = shown(geometry.passes.back());
    const DrawnChange drawn = draw_change(trivial_augment_changes(), bins_, bins_, picture, draw);
    const auto adjustment = adjustment_of(drawn.change, drawn.magnitude, picture, look_);
    if (adjustment) adjust(*adjustment, geometry);
  }

  int bins_;
  Look look_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void trivial_augment(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::TrivialAugment>(placed.spec));
}

}  // namespace spdld::media::ops
