#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void sharpness(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(
      std::make_unique<image::AmountStep>(placed.spec, image::AdjustmentType::kSharpness, "factor"));
}

}  // namespace spdld::media::ops
