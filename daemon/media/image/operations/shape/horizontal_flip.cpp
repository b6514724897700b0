#include "daemon/media/image/geometry/flip.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void horizontal_flip(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Flip>(placed.spec, &image::Pass::mirrored));
}

}  // namespace spdld::media::ops
