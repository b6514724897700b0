#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {

OperationType elastic() {
  Parameter sigma = numbers("sigma", "pixels: how smooth the displacements are, or [across, down]", 0, 100, 2, {5});
  sigma.above_min = true;
  return warp_operation("elastic", "Move pixels by smooth random displacements, as torchvision's ElasticTransform.",
                        {numbers("alpha", "how strong the displacements are, or [across, down]", 0, 10'000, 2, {50}),
                         sigma, warp_filter("bilinear"), warp_fill()},
                        1);
}

}  // namespace spdld::config::ops
