#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/corner_crops.h"

namespace spdld::config::ops {

OperationType ten_crop() {
  return corner_crops(
      "ten-crop",
      "The pieces of five-crop, and behind them the same of the mirrored picture, as torchvision's TenCrop: "
      "the tensor of a sample has a first dimension of 10.",
      {flag("vertical_flip", "mirror top and bottom, not left and right", false)},
      [](const OperationSpec& spec, Signature& signature) { return bind_corner_crops(spec, 10, signature); });
}

}  // namespace spdld::config::ops
