#include <algorithm>

#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/shape/warp.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

void check_pad_to(OperationSpec& spec, const Complain& complain) {
  if (spec.numbers("fill").size() == 2) complain("fill", "must be one number or [red, green, blue]");
}

// A larger picture stays as large as it is, so that the result has a fixed size only where the picture has one.
std::string bind_pad_to(const OperationSpec& spec, Signature& signature) {
  const PictureSize least = picture_size(spec);
  const auto padded = [](const Dimension& side, int64_t wanted) {
    return side.is_fixed() ? Dimension(std::max(side.value(), wanted)) : Dimension();
  };
  signature = resized(signature, padded(signature.dimensions[0], least.height),
                      padded(signature.dimensions[1], least.width), true);
  return bind_warp(spec, signature);
}

std::vector<ExtraTensor> place_in_result(const OperationSpec& spec) {
  const std::string& name = spec.text("box");
  if (name.empty()) return {};
  return {{name, "box", DType::kInt32, {4}}};
}

}  // namespace

OperationType pad_to() {
  return {
      .name = "pad-to",
      .takes = SignatureKind::kImage,
      .gives = SignatureKind::kImage,
      .help =
          "Put a border of one colour around a picture that is smaller than this size; a larger side stays as it "
          "is. A letterbox, and the padding of FixedSizeCrop.",
      .parameters = {size("that the result has at least: one number (a square) or [height, width]"),
                     choice("place", "of the picture: in the middle of the result, or at its upper left corner",
                            {"middle", "corner"}, "middle"),
                     warp_fill(),
                     {.name = "box",
                      .type = ParameterType::kText,
                      .help = "name of an extra output, int32 [B, 4]: where the picture lies in the result, as x, y, "
                              "width, height; none when empty",
                      .fallback = Value(std::string())}},
      .bind = bind_pad_to,
      .check = check_pad_to,
      .extras = place_in_result,
      .medium = PictureTraits{.view_part = ViewPart::kMoves, .tells_place = "box"}};
}

}  // namespace spdld::config::ops
