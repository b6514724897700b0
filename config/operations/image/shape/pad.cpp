#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

Parameter padding() {
  Parameter padding =
      numbers("padding", "pixels: of each side, or [left and right, top and bottom], or [left, top, right, bottom]", 0,
              kSideMax, 4, {});
  padding.fallback.reset();
  padding.whole = true;
  return padding;
}

void check_pad(OperationSpec& spec, const Complain& complain) {
  if (spec.numbers("padding").size() == 3) complain("padding", "must be one, two or four numbers");
  if (spec.text("mode") != "constant" && spec.numbers("fill") != std::vector<double>{0})
    complain("fill", "stands beside mode = \"constant\" alone");
  if (spec.numbers("fill").size() == 2) complain("fill", "must be one number or [red, green, blue]");
}

std::string bind_pad(const OperationSpec& spec, Signature& signature) {
  const PicturePadding padding = picture_padding(spec);
  const auto wider = [](const Dimension& side, int64_t by) {
    if (!side.most()) return side;
    return side.is_fixed() ? Dimension(side.value() + by) : Dimension::bounded(*side.most() + by);
  };
  signature = resized(signature, wider(signature.dimensions[0], padding.top + padding.bottom),
                      wider(signature.dimensions[1], padding.left + padding.right), true);
  return bind_warp(spec, signature);
}

}  // namespace

OperationType pad() {
  return {.name = "pad",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Put a border around the picture, as torchvision's Pad.",
          .parameters = {padding(),
                         choice("mode",
                                "of the border: one colour, the outermost pixels again, or the picture mirrored "
                                "without (reflect) or with (symmetric) its outermost pixels",
                                {"constant", "edge", "reflect", "symmetric"}, "constant"),
                         warp_fill()},
          .bind = bind_pad,
          .check = check_pad,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
