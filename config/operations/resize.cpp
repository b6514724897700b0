#include "config/operations/common.h"
#include "config/operations/types.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

// torchvision's size: the shorter side becomes `shorter`, and the other one follows.
std::string bind_resize(const OperationSpec& spec, Signature& signature) {
  const PictureSize size = picture_size(spec);
  if (!has_one_number(spec)) {
    signature = resized(signature, size.height, size.width, true);
  } else if (signature.is_fixed()) {
    const PictureSize given =
        shorter_side_size({signature.dimensions[0].value(), signature.dimensions[1].value()}, size.height);
    signature = resized(signature, given.height, given.width, true);
  } else {
    signature.is_resampled = true;
  }
  return "";
}

}  // namespace

OperationType resize() {
  return {.name = "resize",
          .takes = Kind::kImage,
          .gives = Kind::kImage,
          .help = "Resize, as Pillow and torchvision do it.",
          .parameters = {size("one number: of the shorter side, the other follows; or [height, width]"), antialias(),
                         filter()},
          .bind = bind_resize,
          .check = check_filter,
          .view_part = ViewPart::kMoves};
}

}  // namespace spdld::config::ops
