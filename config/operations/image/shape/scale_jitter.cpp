#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/resizing.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

constexpr double kScaleMax = 16;

void check_scale_jitter(OperationSpec& spec, const Complain& complain) {
  if (spec.numbers("scale").size() == 1) complain("scale", "must be two numbers, [least, greatest]");
  check_range(spec, "scale", complain);
  check_resizing(spec, complain);
}

}  // namespace

OperationType scale_jitter() {
  Parameter scale = numbers("scale", "[least, greatest] of the random factor", 0, kScaleMax, 2, {0.1, 2});
  scale.above_min = true;
  OperationType type = resizing_operation(
      "scale-jitter",
      "Resize by a random factor of the size that fits into a box, as torchvision's ScaleJitter (large-scale jitter).",
      {size("of the box: one number (a square) or [height, width]"), scale});
  type.check = check_scale_jitter;
  return type;
}

}  // namespace spdld::config::ops
