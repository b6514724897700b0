#include <utility>

#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomApply final : public GeometryStep {
 public:
  RandomApply(const config::OperationSpec& op, GeometrySteps steps)
      : probability_(op.number("p")), draw_(draw_of(op)), steps_(std::move(steps)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    if (draws.named(draw_).uniform(0, 1) >= probability_) return;
    for (const auto& step : steps_) step->apply(draws, geometry);
  }

 private:
  double probability_;
  uint64_t draw_;  // key
  GeometrySteps steps_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_apply(const PlacedOperation& placed, Nodes& nodes) {
  auto& node = image::program_node(nodes);
  node.add(std::make_unique<image::RandomApply>(placed.spec, node.take(placed.spec.ops.size())));
}

}  // namespace spdld::media::ops
