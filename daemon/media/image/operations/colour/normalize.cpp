#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void normalize(const PlacedOperation& placed, Nodes& nodes) {
  image::TensorFormat format = image::format_of(placed);
  for (size_t c = 0; c < static_cast<size_t>(placed.takes.picture().channels); ++c) {
    const double mean = placed.spec.numbers("mean")[c], deviation = placed.spec.numbers("std")[c];
    format.factor[c] = static_cast<float>(1 / (format.pixels.white() * deviation));
    format.offset[c] = static_cast<float>(-mean / deviation);
  }
  image::program_node(nodes).end(format);
}

}  // namespace spdld::media::ops
