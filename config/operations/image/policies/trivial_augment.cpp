#include "config/operation_types.h"
#include "config/operations/image/policies/policy.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {

OperationType trivial_augment() {
  return warp_operation("trivial-augment",
                        "Do one change of colours or places of any magnitude, as torchvision's TrivialAugmentWide.",
                        {magnitude_bins(), warp_filter("nearest"), warp_fill()}, 1);
}

}  // namespace spdld::config::ops
