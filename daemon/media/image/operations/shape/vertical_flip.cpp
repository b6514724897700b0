#include "daemon/media/image/geometry/flip.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void vertical_flip(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Flip>(placed.spec, &image::Pass::flipped));
}

}  // namespace spdld::media::ops
