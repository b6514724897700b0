#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType solarize() {
  const Parameter threshold{.name = "threshold",
                            .type = ParameterType::kNumber,
                            .help = "values from this one on are inverted",
                            .min = 0,
                            .max = 255};
  return colour_operation("solarize", "Invert large values, as torchvision's RandomSolarize.", {threshold}, 0.5);
}

}  // namespace spdld::config::ops
