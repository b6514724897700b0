#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType hue() {
  return colour_operation(
      "hue", "Turn the hue, as torchvision's adjust_hue.",
      {range("factor", "one part of a turn, or [least, greatest] of a drawn one; 0 changes nothing", -0.5, 0.5)}, 1);
}

}  // namespace spdld::config::ops
