#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
OperationType gaussian_noise() {
  return colour_operation("gaussian-noise",
                          "Add normal noise to each value, and keep it from 0 to 255, as torchvision's GaussianNoise.",
                          {number("mean", "of the noise, where white is 1", 0, -1, 1),
                           number("sigma", "standard deviation of the noise, where white is 1", 0.1, 0, 1)},
                          1);
}

}  // namespace spdld::config::ops
