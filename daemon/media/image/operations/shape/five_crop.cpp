#include "daemon/media/image/geometry/corner_crops.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void five_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::CornerCrops>(placed.spec, nullptr));
}

}  // namespace spdld::media::ops
