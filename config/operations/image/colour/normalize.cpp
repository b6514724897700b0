#include <algorithm>

#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr int64_t kWhite8Bit = 255, kWhite16Bit = 65'535;

Parameter colours(std::string_view name, std::string_view help, double min) {
  return {.name = name,
          .type = ParameterType::kNumbers,
          .help = help,
          .min = min,
          .max = 65'535,
          .count_min = 1,
          .count_max = 4,
          .above_min = min == 0};
}

// Mean and std come out on the scale where white is 1, whichever they were written on: both spellings are one spec.
void check_normalize(OperationSpec& spec, const Complain& complain) {
  const int64_t scale = spec.integer("scale");
  if (scale != 1 && scale != kWhite8Bit && scale != kWhite16Bit)
    return complain("scale", "must be 1, 255 or 65535, not " + std::to_string(scale));
  spec.parameters.erase("scale");
  auto& mean = std::get<std::vector<double>>(spec.parameters.find("mean")->second);
  auto& std = std::get<std::vector<double>>(spec.parameters.find("std")->second);
  if (std::any_of(mean.begin(), mean.end(), [scale](double value) { return value > static_cast<double>(scale); })) {
    complain("mean", scale == 1 ? "must be on the scale where white is 1, such as [0.485, 0.456, 0.406]: divide "
                                  "mean and std by 255, or write scale = 255 where they are of values up to 255"
                                : "must be at most " + std::to_string(scale) +
                                      ", which is white with scale = " + std::to_string(scale));
  }
  for (double& value : mean) value /= static_cast<double>(scale);
  for (double& value : std) value /= static_cast<double>(scale);
}

std::string bind_normalized(const OperationSpec& spec, Signature& signature) {
  const auto channels = static_cast<size_t>(signature.picture().channels);
  for (const std::string_view name : {"mean", "std"}) {
    const size_t count = spec.numbers(name).size();
    if (count == channels) continue;
    return "takes pictures of " + std::to_string(channels) + (channels == 1 ? " channel" : " channels") +
           ", and its `" + std::string(name) + "` has " + std::to_string(count) +
           (count == 1 ? " number" : " numbers") + ": write one for each channel";
  }
  return bind_picture_tensor(spec, signature);
}

}  // namespace

OperationType normalize() {
  const Parameter scale{
      .name = "scale",
      .type = ParameterType::kInteger,
      .help =
          "the colour value that mean and std count as white: 1, or 255 or 65535 if they are for 8-bit or 16-bit "
          "values",
      .fallback = Value(int64_t{1}),
      .min = 1,
      .max = 65'535};
  return {.name = "normalize",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kTensor,
          .help =
              "(value * scale / white - mean) / std of each channel, written as a tensor, where white is 255, 65535 of "
              "16 bits, or 1 of 32; only an operation on tensors may follow.",
          .parameters = {colours("mean", "one number for each channel, where white is `scale`; at most `scale`", -1000),
                         colours("std", "one number for each channel, where white is `scale`", 0), scale,
                         choice("dtype", "of the tensor's elements", {"float16", "bfloat16", "float32"}, "float32"),
                         picture_layout("NCHW")},
          .bind = bind_normalized,
          .check = check_normalize,
          .medium = PictureTraits{.normalizes = {.mean = "mean", .std = "std"}}};
}

}  // namespace spdld::config::ops
