#include <algorithm>

#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

constexpr int64_t kWhite8Bit = 255;

Parameter colours(std::string_view name, std::string_view help, double min) {
  return {.name = name,
          .type = ParameterType::kNumbers,
          .help = help,
          .min = min,
          .max = 1000,
          .count_min = 3,
          .count_max = 3,
          .above_min = min == 0};
}

// Mean and std come out on the scale where white is 1, whichever they were written on: both spellings are one spec.
void check_normalize(OperationSpec& spec, const Complain& complain) {
  const int64_t scale = spec.integer("scale");
  if (scale != 1 && scale != kWhite8Bit) return complain("scale", "must be 1 or 255, not " + std::to_string(scale));
  spec.parameters.erase("scale");
  auto& mean = std::get<std::vector<double>>(spec.parameters.find("mean")->second);
  auto& std = std::get<std::vector<double>>(spec.parameters.find("std")->second);
  if (std::any_of(mean.begin(), mean.end(), [scale](double value) { return value > static_cast<double>(scale); })) {
    complain("mean", scale == 1 ? "must be on the scale where white is 1, such as [0.485, 0.456, 0.406]: divide "
                                  "mean and std by 255, or write scale = 255 where they are of values up to 255"
                                : "must be at most 255, which is white with scale = 255");
  }
  for (double& value : mean) value /= static_cast<double>(scale);
  for (double& value : std) value /= static_cast<double>(scale);
}

}  // namespace

OperationType normalize() {
  const Parameter scale{
      .name = "scale",
      .type = ParameterType::kInteger,
      .help = "the colour value that mean and std count as white: 1, or 255 if they are for 8-bit values",
      .fallback = Value(int64_t{1}),
      .min = 1,
      .max = 255};
  return {
      .name = "normalize",
      .takes = Kind::kImage,
      .gives = Kind::kTensor,
      .help =
          "(value * scale / 255 - mean) / std of each colour, written as a tensor; the last operation of its output.",
      .parameters = {colours("mean", "of red, green and blue, where white is `scale`; at most `scale`", -1000),
                     colours("std", "of red, green and blue, where white is `scale`", 0), scale,
                     choice("dtype", "of the tensor's elements", {"float16", "bfloat16", "float32"}, "float32"),
                     choice("layout", "order of height, width and channel", {"NHWC", "NCHW"}, "NCHW")},
      .bind = bind_picture_tensor,
      .check = check_normalize};
}

}  // namespace spdld::config::ops
