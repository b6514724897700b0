#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_boxes(const OperationSpec&, Signature& signature) {
  return bind_view_list(signature, tensor(DType::kFloat32, {Dimension(), Dimension(4)}));
}

Parameter least(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = ParameterType::kNumber,
          .help = help,
          .fallback = Value(1.0),
          .min = 0,
          .max = kSideMax * kSideMax};
}

}  // namespace

OperationType boxes() {
  return {
      .name = "boxes",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kTensor,
      .help =
          "A list of boxes, moved, cut off and mirrored as the picture of the output's view, float32 [n, 4]; a box of "
          "which too little is left is dropped.",
      .parameters = {choice("format", "of the list: corners, or a corner or the centre with width and height",
                            {"xyxy", "xywh", "cxcywh"}, "xyxy"),
                     choice("gives", "format of the tensor; the format of the list when left out",
                            {"xyxy", "xywh", "cxcywh"}, ""),
                     flag("relative", "the numbers are parts of the picture's width and height, not pixels", false),
                     least("min_size", "boxes with a smaller width or height are dropped, in pixels"),
                     least("min_area", "boxes with a smaller area are dropped, in square pixels")},
      .bind = bind_boxes,
      .medium = PictureTraits{.view_part = ViewPart::kFollows, .drops_rows = true, .lists_boxes = true}};
}

}  // namespace spdld::config::ops
