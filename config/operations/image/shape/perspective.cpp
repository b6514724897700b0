#include "config/operation_types.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {

OperationType perspective() {
  Parameter distortion = {.name = "distortion_scale",
                          .type = ParameterType::kNumber,
                          .help = "how far the corners may move inwards, in parts of half of the sides",
                          .fallback = Value(0.5),
                          .min = 0,
                          .max = 1};
  return warp_operation("perspective",
                        "Move the corners inwards by random amounts, as torchvision's RandomPerspective.",
                        {distortion, warp_filter("bilinear"), warp_fill()}, 0.5);
}

}  // namespace spdld::config::ops
