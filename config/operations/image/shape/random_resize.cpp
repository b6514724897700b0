#include "config/operation_types.h"
#include "config/operations/image/shape/resizing.h"

namespace spdld::config::ops {
namespace {

void check_random_resize(OperationSpec& spec, const Complain& complain) {
  const auto& sizes = spec.numbers("size");
  if (sizes[0] >= sizes[1]) complain("size", "must be [least, bound] with a least number below the bound");
  check_resizing(spec, complain);
}

}  // namespace

OperationType random_resize() {
  Parameter sizes =
      sides("size", "[least, bound]: the shorter side gets a random length from least on and below bound");
  sizes.count_min = sizes.count_max = 2;
  OperationType type = resizing_operation(
      "random-resize", "Resize to a random length of the shorter side, as torchvision's RandomResize.", {sizes});
  type.check = check_random_resize;
  return type;
}

}  // namespace spdld::config::ops
