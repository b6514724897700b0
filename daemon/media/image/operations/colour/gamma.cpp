#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Gamma final : public AdjustingStep {
 public:
  explicit Gamma(const config::OperationSpec& op)
      : AdjustingStep(op), gamma_(range_of(op, "gamma")), gain_(op.number("gain")) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    adjust({.type = AdjustmentType::kGamma, .amount = gamma_.from(draw), .gain = gain_}, geometry);
  }

  Range gamma_;
  double gain_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void gamma(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Gamma>(placed.spec));
}

}  // namespace spdld::media::ops
