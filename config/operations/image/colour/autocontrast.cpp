#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType autocontrast() {
  return colour_operation("autocontrast",
                          "Spread each channel's values from 0 to 255, as torchvision's RandomAutocontrast.", {}, 0.5);
}

}  // namespace spdld::config::ops
