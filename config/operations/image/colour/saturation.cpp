#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType saturation() {
  return colour_operation(
      "saturation", "Move colours away from their grey, or towards it, as torchvision's adjust_saturation.",
      {range("factor", "one factor, or [least, greatest] of a drawn one; 1 changes nothing, and 0 gives grey", 0, 100)},
      1);
}

}  // namespace spdld::config::ops
