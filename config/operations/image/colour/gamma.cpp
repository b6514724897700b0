#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType gamma() {
  const Parameter gain{.name = "gain",
                       .type = ParameterType::kNumber,
                       .help = "the factor of the result",
                       .fallback = Value(1.0),
                       .min = 0,
                       .max = 100};
  return colour_operation("gamma", "gain * value ^ gamma, where white is 1, as torchvision's adjust_gamma.",
                          {range("gamma", "one exponent, or [least, greatest] of a drawn one", 0, 100), gain}, 1);
}

}  // namespace spdld::config::ops
