#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

Parameter area_scale() {
  return {.name = "scale",
          .type = ParameterType::kNumbers,
          .help = "least and greatest part of the picture's area",
          .fallback = Value(std::vector<double>{0.08, 1.0}),
          .min = 0,
          .max = 1,
          .count_min = 2,
          .count_max = 2,
          .above_min = true};
}

Parameter ratio() {
  return {.name = "ratio",
          .type = ParameterType::kNumbers,
          .help = "least and greatest width divided by height",
          .fallback = Value(std::vector<double>{0.75, 4.0 / 3.0}),
          .min = 0.01,
          .max = 100,
          .count_min = 2,
          .count_max = 2};
}

Parameter box() {
  return {.name = "box",
          .type = ParameterType::kText,
          .help =
              "name of an extra output, int32 [B, 4]: the drawn box as x, y, width, height in pixels of the "
              "upright picture; none when empty",
          .fallback = Value(std::string())};
}

void check_random_crop(OperationSpec& spec, const Complain& complain) {
  for (const std::string_view name : {"scale", "ratio"}) check_range(spec, name, complain);
  check_by_epoch(spec, complain);
  check_filter(spec, complain);
  check_draw(spec, complain);
}

std::string bind_random_crop(const OperationSpec& spec, Signature& signature) {
  if (signature.picture().is_resampled && !spec.text("box").empty())
    return "can't give the drawn box, since its `box` is in the picture's own pixels: no operation before it may "
           "resize the picture, and only one random-resized-crop of an output can have a box";
  signature = resized_by_epoch(spec, signature);
  return "";
}

std::vector<ExtraTensor> drawn_box(const OperationSpec& spec) {
  const std::string& name = spec.text("box");
  if (name.empty()) return {};
  return {{name, "box", DType::kInt32, {4}}};
}

}  // namespace

OperationType random_resized_crop() {
  return {.name = "random-resized-crop",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Cut a box of random area and ratio and resize it, as torchvision's RandomResizedCrop.",
          .parameters = {size("of the result: one number (a square) or [height, width]"), area_scale(), ratio(), box(),
                         by_epoch(), antialias(), filter(), draw()},
          .bind = bind_random_crop,
          .check = check_random_crop,
          .extras = drawn_box,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
