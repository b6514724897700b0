#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

constexpr double kShearMax = 89;  // degrees: at 90 a picture has no area

Parameter affine_degrees() {
  Parameter degrees =
      numbers("degrees", "one number x: turned by -x to x degrees, clockwise; or [least, greatest]", -360, 360, 2, {});
  degrees.fallback.reset();
  return degrees;
}

Parameter affine_shear() {
  return numbers("shear",
                 "degrees: one number x, from -x to x along the rows; or [least, greatest]; or these of the rows and "
                 "then of the columns",
                 -kShearMax, kShearMax, 4, {0});
}

Parameter affine_scale() {
  Parameter scale = numbers("scale", "[least, greatest] factor of the size", 0, 100, 2, {1});
  scale.above_min = true;
  return scale;
}

void check_affine(OperationSpec& spec, const Complain& complain) {
  check_turn(spec, "degrees", complain);
  check_range(spec, "scale", complain);
  if (spec.numbers("translate").size() == 1 && spec.numbers("translate").front() != 0)
    complain("translate", "must be two numbers, [across, down]");
  const std::vector<double> shear = spec.numbers("shear");
  if (shear.size() <= 2) {
    check_turn(spec, "shear", complain);
  } else if (shear.size() == 3 || shear[0] > shear[1] || shear[2] > shear[3]) {
    complain("shear", "must be one, two or four numbers, each pair with its least number first");
  }
  check_warp(spec, complain);
}

}  // namespace

OperationType affine() {
  OperationType type = warp_operation(
      "affine", "Turn, move, scale and shear by random amounts, as torchvision's RandomAffine.",
      {affine_degrees(),
       numbers("translate", "[across, down]: the most by which it moves, in parts of the width and height", 0, 1, 2,
               {0}),
       affine_scale(), affine_shear(), warp_filter("nearest"), warp_fill(), warp_center()},
      1);
  type.check = check_affine;
  return type;
}

}  // namespace spdld::config::ops
