#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Elastic final : public WarpStep {
 public:
  explicit Elastic(const config::OperationSpec& op)
      : WarpStep(op), alpha_(pair(op.numbers("alpha"))), sigma_(pair(op.numbers("sigma"))) {}

 private:
  static std::array<double, 2> pair(const std::vector<double>& numbers) { return {numbers.front(), numbers.back()}; }
  Warp draw_warp(Draw& draw, const Size& picture) const override {
    return elastic_warp(picture, draw.bits64(), alpha_, sigma_);
  }

  std::array<double, 2> alpha_, sigma_;  // across and down
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void elastic(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Elastic>(placed.spec));
}

}  // namespace spdld::media::ops
