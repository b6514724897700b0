#include "config/batch_operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::batch_ops {
namespace {

constexpr double kWarpedSideMax = 16384, kTurnMax = 180, kShearMax = 44, kScaleMin = 0.01, kScaleMax = 16,
                 kAspectMax = 1e6;

std::string refuses_mosaic_warp(const Signature& end) {
  if (layout_of(end) && end.dtype() == DType::kUint8) return "";
  if (layout_of(end)) return "is " + std::string(dtype_name(end.dtype())) + ", and mosaic-warp takes pictures of uint8";
  return "is no picture, and a mosaic is made of pictures";
}

}  // namespace

BatchOperationType mosaic_warp() {
  return {
      .name = "mosaic-warp",
      .help =
          "Four pictures around a random place of a canvas with sides twice as long, which is turned, moved, scaled "
          "and "
          "sheared by random amounts into the picture's size, with all boxes: YOLO's mosaic and random perspective.",
      .parameters =
          {{.name = "boxes", .type = ParameterType::kText, .help = "the output with the boxes on the picture"},
           {.name = "inside",
            .type = ParameterType::kText,
            .help = "the further tensor of pad-to that says where the picture lies in its border; none when empty",
            .fallback = Value(std::string())},
           ops::number_pair("center", "[least, greatest]: where the pictures meet, in parts of the canvas",
                            {0.25, 0.75}, 0, 1),
           ops::number("degrees", "x: turned by -x to x degrees", 0, 0, kTurnMax),
           ops::number("translate", "x: moved by -x to x parts of the picture's width and height", 0.1, 0, 1),
           ops::number_pair("scale", "[least, greatest] factor of the size", {0.5, 1.5}, kScaleMin, kScaleMax),
           ops::number("shear", "x: sheared by -x to x degrees along the rows, and along the columns", 0, 0, kShearMax),
           ops::number("fill", "the value of all channels where no picture lies", 114, 0, 255),
           ops::number("min_size", "boxes with a smaller width or height are dropped, in pixels", 2, 0, kWarpedSideMax),
           ops::number("min_part", "boxes that keep a smaller part of their area are dropped", 0.1, 0, 1),
           ops::number("max_aspect", "boxes with a greater ratio of their sides are dropped", 100, 1, kAspectMax)},
      .refuses = refuses_mosaic_warp,
      .partners = 3,
      .boxes = "boxes",
      .inside = "inside"};
}

}  // namespace spdld::config::batch_ops
