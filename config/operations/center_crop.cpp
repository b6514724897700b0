#include "config/operations/common.h"
#include "config/operations/types.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

std::string bind_crop(const OperationSpec& spec, Signature& signature) {
  const PictureSize size = picture_size(spec);
  signature = resized(signature, size.height, size.width, signature.is_resampled);
  return "";
}

}  // namespace

OperationType center_crop() {
  return {.name = "center-crop",
          .takes = Kind::kImage,
          .gives = Kind::kImage,
          .help = "Cut the middle out, as torchvision's CenterCrop; a smaller picture is filled up with black.",
          .parameters = {size("of the result: one number (a square) or [height, width]")},
          .bind = bind_crop,
          .view_part = ViewPart::kMoves};
}

}  // namespace spdld::config::ops
