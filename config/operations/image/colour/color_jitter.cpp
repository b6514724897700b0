#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
namespace {

Parameter strength(std::string_view name, std::string_view help, double min, double max) {
  Parameter parameter = range(name, help, min, max);
  parameter.fallback = Value(std::vector<double>{0});
  return parameter;
}

void check_jitter(OperationSpec& spec, const Complain& complain) {
  for (const std::string_view name : {"brightness", "contrast", "saturation", "hue"}) {
    const auto& numbers = spec.numbers(name);
    check_range(spec, name, complain);
    if (numbers.size() == 1 && numbers.front() < 0) complain(name, "must be at least 0 where it is one number");
  }
  check_colours(spec, complain);
}

}  // namespace

OperationType color_jitter() {
  constexpr std::string_view kFactor =
      "0: leave it out; one number x: a factor from max(0, 1 - x) to 1 + x; or [least, greatest]";
  OperationType type = colour_operation(
      "color-jitter",
      "Change brightness, contrast, saturation and hue by random amounts in a random order, as torchvision's "
      "ColorJitter.",
      {strength("brightness", kFactor, 0, 100), strength("contrast", kFactor, 0, 100),
       strength("saturation", kFactor, 0, 100),
       strength("hue", "0: leave it out; one number x: from -x to x parts of a turn; or [least, greatest]", -0.5, 0.5)},
      1);
  type.check = check_jitter;
  return type;
}

}  // namespace spdld::config::ops
