#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "config/operation.h"
#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomOrder final : public GeometryStep {
 public:
  RandomOrder(const config::OperationSpec& op, GeometrySteps steps) : draw_(draw_of(op)), steps_(std::move(steps)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    std::array<uint8_t, config::kHeldMax> places;
    const auto order = std::span(places).first(steps_.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
    Draw draw = draws.named(draw_);
    shuffle(draw, order);
    for (const uint8_t place : order) steps_[place]->apply(draws, geometry);
  }

 private:
  uint64_t draw_;  // key
  GeometrySteps steps_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_order(const PlacedOperation& placed, Nodes& nodes) {
  auto& node = image::program_node(nodes);
  node.add(std::make_unique<image::RandomOrder>(placed.spec, node.take(placed.spec.ops.size())));
}

}  // namespace spdld::media::ops
