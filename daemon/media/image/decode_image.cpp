#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void decode_image(const Part& part, Nodes& nodes) {
  const auto& spec = part.spec;
  nodes.push_back(std::make_unique<image::PictureNode>(
      image::DecodeWay{.exif = spec.flag("exif"), .fast = spec.flag("fast"), .strict = spec.flag("strict")}));
}

}  // namespace spdld::media::ops
