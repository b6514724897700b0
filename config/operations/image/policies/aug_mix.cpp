#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

Parameter count(std::string_view name, std::string_view help, int64_t fallback, int64_t min, int64_t max) {
  return {.name = name,
          .type = ParameterType::kInteger,
          .help = help,
          .fallback = Value(fallback),
          .min = static_cast<double>(min),
          .max = static_cast<double>(max)};
}

}  // namespace

OperationType aug_mix() {
  const Parameter alpha{.name = "alpha",
                        .type = ParameterType::kNumber,
                        .help = "of the Dirichlet distributions that the weights come from",
                        .fallback = Value(1.0),
                        .min = 0.01,
                        .max = 100};
  OperationType type = warp_operation(
      "aug-mix", "Mix the picture with copies that were changed in several ways, as torchvision's AugMix.",
      {count("severity", "magnitudes are drawn from so many bins of ten", 3, 1, 10),
       count("mixture_width", "how many changed copies there are", 3, 1, 8),
       count("chain_depth", "how many changes each copy gets; -1: 1 to 3, at random", -1, -1, 8), alpha,
       flag("all_ops", "change brightness, colour, contrast and sharpness as well", true), warp_filter("bilinear"),
       warp_fill()},
      1);
  type.medium = PictureTraits{.view_part = ViewPart::kBlends};
  return type;
}

}  // namespace spdld::config::ops
