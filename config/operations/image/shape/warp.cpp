#include "config/operations/image/shape/warp.h"

#include <utility>

#include "config/operations/common.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

Parameter warp_filter(std::string_view fallback) {
  return choice("filter", "how pixels are made: of the nearest one, or of the four around", {"nearest", "bilinear"},
                fallback);
}

Parameter warp_fill() {
  return numbers("fill", "0 to 255: the colour where the picture has no pixel, one number or [red, green, blue]", 0,
                 255, 3, {0});
}

Parameter warp_center() {
  Parameter center = numbers("center",
                             "[x, y]: the place around which the picture turns, in pixels from its upper left corner; "
                             "none: the picture's centre",
                             -kSideMax, kSideMax, 2, {});
  center.count_min = 0;
  return center;
}

OperationType warp_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters,
                             double p) {
  parameters.push_back(probability(p));
  parameters.push_back(draw());
  return {.name = name,
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = help,
          .parameters = std::move(parameters),
          .bind = bind_warp,
          .check = check_warp,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

std::string bind_warp(const OperationSpec& spec, Signature& signature) {
  signature.picture().is_resampled = true;
  return bind_colours(spec, signature);
}

std::string bind_warp_of_any_size(const OperationSpec& spec, Signature& signature) {
  signature = resized(signature, Dimension(), Dimension(), true);
  return bind_colours(spec, signature);
}

void check_turn(OperationSpec& spec, std::string_view name, const Complain& complain) {
  const std::vector<double> pair = spec.numbers(name);
  if (pair.size() > 1) return check_range(spec, name, complain);
  if (pair.front() < 0) complain(name, "must be at least 0 where it is one number x, which stands for [-x, x]");
  spec.parameters.insert_or_assign(std::string(name), Value(std::vector<double>{-pair.front(), pair.front()}));
}

void check_warp(OperationSpec& spec, const Complain& complain) {
  if (spec.numbers("fill").size() == 2) complain("fill", "must be one number or [red, green, blue]");
  const auto center = spec.parameters.find("center");
  if (center != spec.parameters.end() && std::get<std::vector<double>>(center->second).size() == 1)
    complain("center", "must be two numbers, [x, y]");
  check_draw(spec, complain);
}

}  // namespace spdld::config::ops
