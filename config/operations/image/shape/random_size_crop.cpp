#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"

namespace spdld::config::ops {
namespace {

void check_size_crop(OperationSpec& spec, const Complain& complain) {
  check_range(spec, "sides", complain);
  check_draw(spec, complain);
}

// Each sample has another size, since each side is drawn.
std::string bind_size_crop(const OperationSpec&, Signature& signature) {
  signature = resized(signature, Dimension(), Dimension(), signature.picture().is_resampled);
  return "";
}

}  // namespace

OperationType random_size_crop() {
  Parameter sides = numbers("sides", "[least, greatest] length of each side of the box, in pixels", 1, kSideMax, 2, {});
  sides.fallback.reset();
  sides.count_min = 2;
  sides.whole = true;
  return {.name = "random-size-crop",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Cut a box of random sides out at a random place, as DETR's RandomSizeCrop.",
          .parameters = {sides, draw()},
          .bind = bind_size_crop,
          .check = check_size_crop,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
