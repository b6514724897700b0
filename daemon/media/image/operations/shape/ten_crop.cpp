#include "daemon/media/image/geometry/corner_crops.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void ten_crop(const PlacedOperation& placed, Nodes& nodes) {
  auto image::Pass::*const turned = placed.spec.flag("vertical_flip") ? &image::Pass::flipped : &image::Pass::mirrored;
  image::program_node(nodes).add(std::make_unique<image::CornerCrops>(placed.spec, turned));
}

}  // namespace spdld::media::ops
