#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class GaussianNoise final : public AdjustingStep {
 public:
  explicit GaussianNoise(const config::OperationSpec& op)
      : AdjustingStep(op), noise_(op.number("mean"), op.number("sigma")) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    adjust({.type = AdjustmentType::kNoise, .noise = &noise_, .seed = draw.bits64()}, geometry);
  }

  NoiseTable noise_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void gaussian_noise(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::GaussianNoise>(placed.spec));
}

}  // namespace spdld::media::ops
