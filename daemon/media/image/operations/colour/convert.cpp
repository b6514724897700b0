#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void convert(const PlacedOperation& placed, Nodes& nodes) {
  image::TensorFormat format = image::format_of(placed);
  format.factor.fill(static_cast<float>(placed.spec.number("scale")));
  image::program_node(nodes).end(format);
}

}  // namespace spdld::media::ops
