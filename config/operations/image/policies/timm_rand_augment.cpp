#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/policies/policy.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
OperationType timm_rand_augment() {
  Parameter fill = warp_fill();
  fill.fallback = Value(std::vector<double>{128});
  return warp_operation(
      "timm-rand-augment", "Do some changes of colours and places with Pillow's values, as timm's RandAugment.",
      {change_count(), number("magnitude", "0 to 10: the mean of the magnitudes", 9, 0, 10),
       number("magnitude_std", "the standard deviation of the magnitudes, which are drawn for each change", 0.5, 0, 10),
       number("change_p", "how likely each of the drawn changes is to be done", 0.5, 0, 1),
       flag("increasing", "a greater magnitude changes more, for every change", true),
       choice("filter", "how pixels are made: of the four around, of the sixteen around, or of either at random",
              {"bilinear", "bicubic", "random"}, "bicubic"),
       fill},
      1);
}

}  // namespace spdld::config::ops
