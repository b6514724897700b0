#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void grayscale(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::GivenStep>(
      placed.spec, image::Adjustment{.type = placed.gives.picture().channels == 1 ? image::AdjustmentType::kOneChannel
                                                                                  : image::AdjustmentType::kGrey}));
}

}  // namespace spdld::media::ops
