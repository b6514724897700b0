#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {
namespace {

constexpr double kGainMax = 16;

Parameter gain(std::string_view name, double fallback) {
  Parameter gain = range(name, "one number x: a gain from 1 - x to 1 + x; or [least, greatest]", 0, kGainMax);
  gain.fallback = Value(std::vector<double>{fallback});
  return gain;
}

void check_gains(OperationSpec& spec, const Complain& complain) {
  for (const std::string_view name : {"hue", "saturation", "value"}) {
    const auto& numbers = spec.numbers(name);
    check_range(spec, name, complain);
    if (numbers.size() == 1 && numbers.front() > 1)
      complain(name, "must be at most 1 where it is one number x, which stands for gains from 1 - x to 1 + x");
  }
  check_colours(spec, complain);
}

}  // namespace

OperationType hsv_gains() {
  OperationType type = colour_operation(
      "hsv-gains",
      "Multiply hue, saturation and value, as OpenCV has them of 8 bits, by random gains, as YOLO's RandomHSV.",
      {gain("hue", 0.015), gain("saturation", 0.7), gain("value", 0.4)}, 1);
  type.check = check_gains;
  return type;
}

}  // namespace spdld::config::ops
