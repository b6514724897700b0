#include "config/operations/colour.h"
#include "config/operations/types.h"

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
