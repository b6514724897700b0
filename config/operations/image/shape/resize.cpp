#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

Parameter side() {
  return choice("side", "the side that a size of one number is for; the other side follows", {"shorter", "longer"},
                "shorter");
}

Parameter max_size() {
  return {.name = "max_size",
          .type = ParameterType::kInteger,
          .help =
              "beside a size of one number for the shorter side: the most that the longer side may get; where it is "
              "reached, the shorter side gets less than its size; 0: there is no such bound",
          .fallback = Value(int64_t{0}),
          .min = 0,
          .max = kSideMax};
}

// torchvision's size: one side gets a length, and the other one follows.
std::string bind_resize(const OperationSpec& spec, Signature& signature) {
  const ResizeRule rule(spec);
  if (!rule.is_exact() && !signature.is_fixed()) {
    signature = resized(signature, Dimension(), Dimension(), true);
    return "";
  }
  const PictureSize now = rule.is_exact()
                              ? PictureSize{1, 1}
                              : PictureSize{signature.dimensions[0].value(), signature.dimensions[1].value()};
  const PictureSize size = rule.size_for(now);
  signature = resized(signature, size.height, size.width, true);
  return "";
}

void check_resize(OperationSpec& spec, const Complain& complain) {
  check_filter(spec, complain);
  const bool is_longer = spec.text("side") == "longer";
  const int64_t most = spec.integer("max_size");
  const std::string alone = "stands beside a size of one number alone";
  if (!has_one_number(spec) && is_longer) complain("side", alone);
  if (!has_one_number(spec) && most > 0) complain("max_size", alone);
  if (has_one_number(spec) && most > 0 && is_longer)
    complain("max_size", "can't stand beside side = \"longer\", which says how long the longer side is");
  if (has_one_number(spec) && most > 0 && !is_longer && static_cast<double>(most) <= spec.numbers("size").front())
    complain("max_size", "must be more than size, which the shorter side gets");
  // Specs of before have neither: they are left out where they ask for what such specs got.
  if (!is_longer) spec.parameters.erase("side");
  if (most == 0) spec.parameters.erase("max_size");
}

}  // namespace

OperationType resize() {
  return {.name = "resize",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Resize, as Pillow and torchvision do it.",
          .parameters = {size("one number: of the shorter side, the other follows; or [height, width]"), side(),
                         max_size(), antialias(), filter()},
          .bind = bind_resize,
          .check = check_resize,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
