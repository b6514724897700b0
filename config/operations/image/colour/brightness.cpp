#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType brightness() {
  return colour_operation(
      "brightness", "Multiply all values with a factor, as torchvision's adjust_brightness.",
      {range("factor", "one factor, or [least, greatest] of a drawn one; 1 changes nothing, and 0 gives black", 0,
             100)},
      1);
}

}  // namespace spdld::config::ops
