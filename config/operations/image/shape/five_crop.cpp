#include "config/operation_types.h"
#include "config/operations/image/shape/corner_crops.h"

namespace spdld::config::ops {

OperationType five_crop() {
  return corner_crops(
      "five-crop",
      "Cut out the four corners and the middle, as torchvision's FiveCrop: the tensor of a sample has a "
      "first dimension of 5.",
      {}, [](const OperationSpec& spec, Signature& signature) { return bind_corner_crops(spec, 5, signature); });
}

}  // namespace spdld::config::ops
