#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {

OperationType auto_augment() {
  return warp_operation("auto-augment",
                        "Do a pair of changes that was learnt for a data set, as torchvision's AutoAugment.",
                        {choice("policy", "the data set", {"imagenet", "cifar10", "svhn"}, "imagenet"),
                         warp_filter("nearest"), warp_fill()},
                        1);
}

}  // namespace spdld::config::ops
