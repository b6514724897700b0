#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType sharpness() {
  return colour_operation(
      "sharpness", "Sharpen or blur, as torchvision's RandomAdjustSharpness.",
      {range("factor", "one factor, or [least, greatest] of a drawn one; 0 blurs, 1 changes nothing, 2 sharpens", 0,
             100)},
      0.5);
}

}  // namespace spdld::config::ops
