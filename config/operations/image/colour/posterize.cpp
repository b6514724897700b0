#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType posterize() {
  const Parameter bits{.name = "bits",
                       .type = ParameterType::kInteger,
                       .help = "how many of each value's upper bits are kept",
                       .min = 0,
                       .max = 8};
  return colour_operation("posterize", "Keep some bits of each value, as torchvision's RandomPosterize.", {bits}, 0.5);
}

}  // namespace spdld::config::ops
