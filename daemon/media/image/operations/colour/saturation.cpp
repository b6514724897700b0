#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void saturation(const Part& part, Nodes& nodes) {
  image::program_node(nodes).add(
      std::make_unique<image::AmountStep>(part.spec, image::Adjustment::Kind::kSaturation, "factor"));
}

}  // namespace spdld::media::ops
