#include "config/batch_operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::batch_ops {
namespace {

constexpr double kLeastSideMax = 16384;  // pixels

std::string refuses_mosaic(const Signature& end) {
  if (layout_of(end)) return "";
  return "is no picture, and a mosaic is made of pictures";
}

}  // namespace

BatchOperationType mosaic() {
  const Parameter boxes{
      .name = "boxes", .type = ParameterType::kText, .help = "the output with the boxes on the picture"};
  const Parameter center = ops::number_pair(
      "center", "[least, greatest]: where the pictures meet, in parts of the width and of the height", {0, 1}, 0, 1);
  return {
      .name = "mosaic",
      .help =
          "The corners of four pictures that meet at a random place, with the boxes of all of them and the lists that "
          "belong to these (Bochkovskiy et al. 2020).",
      .parameters = {boxes, center,
                     ops::number("min_size", "boxes with a smaller width or height are dropped, in pixels", 1, 0,
                                 kLeastSideMax),
                     ops::number("min_area", "boxes with a smaller area are dropped, in square pixels", 1, 0,
                                 kLeastSideMax * kLeastSideMax),
                     ops::number("min_part", "boxes that keep a smaller part of their area are dropped", 0.1, 0, 1)},
      .refuses = refuses_mosaic,
      .partners = 3,
      .boxes = "boxes"};
}

}  // namespace spdld::config::batch_ops
