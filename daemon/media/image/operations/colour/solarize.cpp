#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void solarize(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::GivenStep>(
      placed.spec,
      image::Adjustment{.type = image::AdjustmentType::kSolarize, .amount = placed.spec.number("threshold")}));
}

}  // namespace spdld::media::ops
