#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType random_crop() {
  return {.name = "random-crop",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help =
              "Cut a box of this size out at a random place, as torchvision's RandomCrop; a smaller picture gets a "
              "random place in a black box.",
          .parameters = {size("of the result: one number (a square) or [height, width]"), draw()},
          .bind = bind_cut,
          .check = [](OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); },
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
