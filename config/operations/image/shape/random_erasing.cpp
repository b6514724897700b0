#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/text/element.h"

namespace spdld::config::ops {
namespace {

Parameter value() {
  return {.name = "value",
          .type = ParameterType::kNumbers,
          .help = "written into the box: one number, or one for each channel, as the tensor has them",
          .fallback = Value(std::vector<double>{0}),
          .min = -65'535,
          .max = 65'535,
          .count_min = 1,
          .count_max = 4};
}

void check_erasing(OperationSpec& spec, const Complain& complain) {
  for (const std::string_view name : {"scale", "ratio"}) check_range(spec, name, complain);
  if (spec.text("noise") != "none" && spec.numbers("value") != std::vector<double>{0})
    complain("value", "may not stand beside noise");
  check_draw(spec, complain);
}

bool holds_fractions(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32;
}

std::string bind_erasing(const OperationSpec& spec, Signature& signature) {
  if (!layout_of(signature) || !signature.is_fixed())
    return "works on the tensor of one picture of one size: it must stand behind normalize or convert";
  const std::string dtype(dtype_name(signature.dtype()));
  if (spec.text("noise") != "none" && !holds_fractions(signature.dtype()))
    return "writes noise around 0, which " + dtype + " can't hold: let the operation before it give a float";
  const auto& values = spec.numbers("value");
  const auto channels = static_cast<size_t>(layout_of(signature) == Layout::kNchw ? signature.dimensions[0].value()
                                                                                  : signature.dimensions[2].value());
  if (values.size() != 1 && values.size() != channels)
    return "has a `value` of " + std::to_string(values.size()) + " numbers for a picture of " +
           std::to_string(channels) + (channels == 1 ? " channel" : " channels") + ": write one, or one for each";
  for (const double each : values)
    if (!element_of(signature.dtype(), each)) return "has a `value` that is no " + dtype;
  return "";
}

}  // namespace

OperationType random_erasing() {
  return {
      .name = "random-erasing",
      .takes = SignatureKind::kTensor,
      .gives = SignatureKind::kTensor,
      .help = "Write a value or noise into a box of random area, ratio and place, as torchvision's RandomErasing.",
      .parameters = {number_pair("scale", "least and greatest part of the picture's area", {0.02, 0.33}, 0, 1),
                     number_pair("ratio", "least and greatest height divided by width", {0.3, 3.3}, 0.01, 100), value(),
                     choice("noise",
                            "normal noise of mean 0 and deviation 1 in the place of a value: for each element, or "
                            "one number for each channel",
                            {"none", "pixel", "channel"}, "none"),
                     probability(0.5), draw()},
      .bind = bind_erasing,
      .check = check_erasing};
}

}  // namespace spdld::config::ops
