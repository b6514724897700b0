#include "config/operations/colour.h"
#include "config/operations/types.h"

namespace spdld::config::ops {

OperationType equalize() {
  return colour_operation("equalize", "Spread each channel's values evenly, as torchvision's RandomEqualize.", {}, 0.5);
}

}  // namespace spdld::config::ops
