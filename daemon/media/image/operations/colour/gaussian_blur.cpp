#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class GaussianBlur final : public AdjustingStep {
 public:
  explicit GaussianBlur(const config::OperationSpec& op)
      : AdjustingStep(op), kernel_(range_of(op, "kernel_size")), sigma_(range_of(op, "sigma")) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    adjust({.type = AdjustmentType::kBlur,
            .amount = sigma_.from(draw),
            .taps_across = static_cast<int>(kernel_.least),
            .taps_down = static_cast<int>(kernel_.greatest)},
           geometry);
  }

  Range kernel_;  // across, and down
  Range sigma_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void gaussian_blur(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::GaussianBlur>(placed.spec));
}

}  // namespace spdld::media::ops
