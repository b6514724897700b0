#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType equalize() {
  return colour_operation("equalize", "Spread each channel's values evenly, as torchvision's RandomEqualize.", {}, 0.5);
}

}  // namespace spdld::config::ops
