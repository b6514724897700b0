#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class ChannelPermutation final : public AdjustingStep {
 public:
  using AdjustingStep::AdjustingStep;

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    Adjustment adjustment{.type = AdjustmentType::kPermutation};
    shuffle(draw, std::span(adjustment.order));
    adjust(adjustment, geometry);
  }
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void channel_permutation(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::ChannelPermutation>(placed.spec));
}

}  // namespace spdld::media::ops
