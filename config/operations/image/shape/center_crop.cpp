#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType center_crop() {
  return {.name = "center-crop",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Cut the middle out, as torchvision's CenterCrop; a smaller picture is filled up with black.",
          .parameters = {size("of the result: one number (a square) or [height, width]")},
          .bind = bind_cut,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
