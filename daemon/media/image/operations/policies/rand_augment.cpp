#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/operations/policies/augment.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandAugment final : public AdjustingStep {
 public:
  explicit RandAugment(const config::OperationSpec& op)
      : AdjustingStep(op),
        count_(static_cast<int>(op.integer("num_ops"))),
        bin_(static_cast<int>(op.integer("magnitude"))),
        bins_(static_cast<int>(op.integer("bins"))),
        look_(look_of(op)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    const auto changes = rand_augment_changes();
    for (int i = 0; i < count_; ++i) {
      const ChangeRange& range = changes[draw.below(changes.size())];
      const Size picture = shown(geometry.passes.back());
      const double magnitude = with_sign(range, magnitude_of(range, bin_, bins_, picture), draw);
      const auto adjustment = adjustment_of(range.change, magnitude, picture, look_);
      if (adjustment) adjust(*adjustment, geometry);
    }
  }

  int count_, bin_, bins_;
  Look look_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void rand_augment(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandAugment>(placed.spec));
}

}  // namespace spdld::media::ops
