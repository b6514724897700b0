#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

Parameter rotate_degrees() {
  Parameter degrees = numbers(
      "degrees", "one number x: turned by -x to x degrees, counter-clockwise; or [least, greatest]", -360, 360, 2, {});
  degrees.fallback.reset();
  return degrees;
}

void check_rotate(OperationSpec& spec, const Complain& complain) {
  check_turn(spec, "degrees", complain);
  if (spec.flag("expand") && !spec.numbers("center").empty())
    complain("center", "can't stand beside expand = true, whose picture turns around its centre");
  check_warp(spec, complain);
}

std::string bind_rotate(const OperationSpec& spec, Signature& signature) {
  return spec.flag("expand") ? bind_warp_of_any_size(spec, signature) : bind_warp(spec, signature);
}

}  // namespace

OperationType rotate() {
  OperationType type =
      warp_operation("rotate", "Turn by a random angle, as torchvision's RandomRotation.",
                     {rotate_degrees(), flag("expand", "make the result as large as the whole turned picture", false),
                      warp_filter("nearest"), warp_fill(), warp_center()},
                     1);
  type.bind = bind_rotate;
  type.check = check_rotate;
  return type;
}

}  // namespace spdld::config::ops
