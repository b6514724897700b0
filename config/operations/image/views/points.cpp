#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType points() {
  return {
      .name = "points",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kTensor,
      .help =
          "A list of points [x, y], moved and mirrored as the picture of the output's view, float32 [n, 2]; (0, 0) is "
          "the upper left corner of the first pixel.",
      .parameters = {choice("outside", "points that the geometry leaves outside are dropped, or kept as they come out",
                            {"drop", "keep"}, "drop"),
                     flag("relative", "the numbers are parts of the picture's width and height, not pixels", false)},
      .bind =
          [](const OperationSpec&, Signature& signature) {
            return bind_view_list(signature, tensor(DType::kFloat32, {Dimension(), Dimension(2)}));
          },
      .medium = PictureTraits{.view_part = ViewPart::kFollows, .drops_rows = true}};
}

}  // namespace spdld::config::ops
