#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType contrast() {
  return colour_operation(
      "contrast", "Move all values away from the picture's mean grey, or towards it, as torchvision's adjust_contrast.",
      {range("factor", "one factor, or [least, greatest] of a drawn one; 1 changes nothing, and 0 gives a grey plane",
             0, 100)},
      1);
}

}  // namespace spdld::config::ops
