#include <algorithm>
#include <numeric>
#include <utility>

#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class RandomChoice final : public GeometryStep {
 public:
  RandomChoice(const config::OperationSpec& op, GeometrySteps steps)
      : sums_(op.numbers("weights")), draw_(draw_of(op)), steps_(std::move(steps)) {
    if (sums_.empty()) sums_.assign(steps_.size(), 1);
    std::partial_sum(sums_.begin(), sums_.end(), sums_.begin());
  }

  void apply(const Draws& draws, Geometry& geometry) const override {
    const double drawn = draws.named(draw_).uniform(0, sums_.back());
    const auto chosen = std::upper_bound(sums_.begin(), sums_.end() - 1, drawn) - sums_.begin();
    steps_[static_cast<size_t>(chosen)]->apply(draws, geometry);
  }

 private:
  std::vector<double> sums_;  // of the weights up to each step's own
  uint64_t draw_;             // key
  GeometrySteps steps_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_choice(const PlacedOperation& placed, Nodes& nodes) {
  auto& node = image::program_node(nodes);
  node.add(std::make_unique<image::RandomChoice>(placed.spec, node.take(placed.spec.ops.size())));
}

}  // namespace spdld::media::ops
