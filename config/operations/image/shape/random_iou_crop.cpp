#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr double kRatioMin = 0.01, kRatioMax = 100, kOptionsMax = 32, kTrialsMax = 1000;

// Above a bound of 0, and not 0 itself.
Parameter positive(std::string_view name, std::string_view help, double min, double max, double fallback) {
  Parameter made = number(name, help, fallback, min, max);
  made.above_min = min == 0;
  return made;
}

Parameter options() {
  return {.name = "sampler_options",
          .type = ParameterType::kNumbers,
          .help =
              "one of them is drawn: the least overlap (intersection over union) of the crop and one of the boxes; 1 "
              "leaves the picture as it is",
          .fallback = Value(std::vector<double>{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}),
          .min = 0,
          .max = 1,
          .count_min = 1,
          .count_max = static_cast<int>(kOptionsMax)};
}

void check_iou_crop(OperationSpec& spec, const Complain& complain) {
  if (spec.text("boxes").empty()) complain("boxes", "must be the name of an output with boxes");
  if (spec.number("min_scale") > spec.number("max_scale")) complain("min_scale", "must be at most max_scale");
  if (spec.number("min_aspect_ratio") > spec.number("max_aspect_ratio"))
    complain("min_aspect_ratio", "must be at most max_aspect_ratio");
  check_draw(spec, complain);
}

std::string bind_iou_crop(const OperationSpec&, Signature& signature) {
  const bool is_resampled = signature.picture().is_resampled;
  signature = resized(signature, Dimension(), Dimension(), is_resampled);
  return "";
}

}  // namespace

OperationType random_iou_crop() {
  return {
      .name = "random-iou-crop",
      .takes = SignatureKind::kImage,
      .gives = SignatureKind::kImage,
      .help =
          "Cut out a random box that overlaps one of the sample's boxes enough, as torchvision's RandomIoUCrop; boxes "
          "whose centres lie outside of it are dropped.",
      .parameters = {{.name = "boxes",
                      .type = ParameterType::kText,
                      .help = "name of the output of the same view with the boxes"},
                     positive("min_scale", "least side of the crop, in parts of the picture's", 0, 1, 0.3),
                     positive("max_scale", "greatest side of the crop, in parts of the picture's", 0, 1, 1),
                     positive("min_aspect_ratio", "least width divided by height", kRatioMin, kRatioMax, 0.5),
                     positive("max_aspect_ratio", "greatest width divided by height", kRatioMin, kRatioMax, 2),
                     options(),
                     {.name = "trials",
                      .type = ParameterType::kInteger,
                      .help = "crops that are tried for one overlap before another one is drawn",
                      .fallback = Value(int64_t{40}),
                      .min = 1,
                      .max = kTrialsMax},
                     draw()},
      .bind = bind_iou_crop,
      .check = check_iou_crop,
      .medium = PictureTraits{.view_part = ViewPart::kMoves, .asks_boxes_of = "boxes"}};
}

}  // namespace spdld::config::ops
