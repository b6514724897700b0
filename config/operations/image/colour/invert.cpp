#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType invert() {
  return colour_operation("invert", "255 minus each value, as torchvision's RandomInvert.", {}, 0.5);
}

}  // namespace spdld::config::ops
