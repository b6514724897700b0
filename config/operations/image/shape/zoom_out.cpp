#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

constexpr double kSidesMax = 8;

void check_zoom_out(OperationSpec& spec, const Complain& complain) {
  if (spec.numbers("side_range").size() == 1) complain("side_range", "must be two numbers, [least, greatest]");
  check_range(spec, "side_range", complain);
  check_warp(spec, complain);
}

}  // namespace

OperationType zoom_out() {
  OperationType type = warp_operation(
      "zoom-out", "Put the picture at a random place of a larger one of one colour, as torchvision's RandomZoomOut.",
      {numbers("side_range", "[least, greatest] side of the larger picture, in parts of the picture's", 1, kSidesMax, 2,
               {1, 4}),
       warp_fill()},
      0.5);
  type.bind = bind_warp_of_any_size;
  type.check = check_zoom_out;
  return type;
}

}  // namespace spdld::config::ops
