#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::media::ops {

void convert(const Part& part, Nodes& nodes) {
  image::TensorFormat format = image::format_of(part);
  format.factor.fill(static_cast<float>(part.spec.number("scale")));
  image::program_node(nodes).end(format);
}

}  // namespace spdld::media::ops
