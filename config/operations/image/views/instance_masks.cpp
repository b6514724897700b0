#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_instance_masks(const OperationSpec&, Signature& signature) {
  const Frame frame = signature.bytes().frame.value_or(Frame());
  return bind_view_list(signature, tensor(DType::kUint8, {Dimension(), frame.height, frame.width}));
}

}  // namespace

OperationType instance_masks() {
  return {
      .name = "instance-masks",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kTensor,
      .help =
          "A mask for each object of a list of polygons or run lengths, as COCO's segmentations: cut, resized "
          "(nearest) "
          "and mirrored as the picture of the output's view, uint8 [n, height, width].",
      .parameters = {{.name = "of",
                      .type = ParameterType::kText,
                      .help = "name of the output whose boxes or points decide which objects are kept; all when empty",
                      .fallback = Value(std::string())},
                     flag("relative", "polygons are parts of the picture's width and height, not pixels", false)},
      .bind = bind_instance_masks,
      .medium = PictureTraits{.view_part = ViewPart::kFollows, .keeps_rows_of = "of", .lists_masks = true}};
}

}  // namespace spdld::config::ops
