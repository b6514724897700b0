#include "config/operations/colour.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

Parameter part(std::string_view name, std::string_view help, double fallback, double min) {
  return {
      .name = name, .type = ParameterType::kNumber, .help = help, .fallback = Value(fallback), .min = min, .max = 1};
}

}  // namespace

OperationType gaussian_noise() {
  return colour_operation("gaussian-noise",
                          "Add normal noise to each value, and keep it from 0 to 255, as torchvision's GaussianNoise.",
                          {part("mean", "of the noise, where white is 1", 0, -1),
                           part("sigma", "standard deviation of the noise, where white is 1", 0.1, 0)},
                          1);
}

}  // namespace spdld::config::ops
