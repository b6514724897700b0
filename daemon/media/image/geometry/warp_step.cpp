#include "daemon/media/image/geometry/warp_step.h"

namespace spdld::image {

std::array<uint8_t, 3> fill_of(const config::OperationSpec& op) {
  const auto& numbers = op.numbers("fill");
  std::array<uint8_t, 3> fill;
  for (size_t i = 0; i < fill.size(); ++i) fill[i] = static_cast<uint8_t>(numbers[numbers.size() == 1 ? 0 : i]);
  return fill;
}

std::optional<Place> center_of(const config::OperationSpec& op) {
  const auto& numbers = op.numbers("center");
  return numbers.empty() ? std::nullopt : std::optional(Place{numbers[0], numbers[1]});
}

void add_border(const Border& border, BorderKind kind, const std::array<uint8_t, 3>& fill, std::string_view operation,
                Geometry& geometry) {
  Adjustment adjustment{.type = AdjustmentType::kWarp, .operation = operation};
  adjustment.warp = border_warp(shown(geometry.passes.back()), border, kind);
  adjustment.warp.fill = fill;
  adjust(adjustment, geometry);
}

WarpStep::WarpStep(const config::OperationSpec& op) : AdjustingStep(op), fill_(fill_of(op)) {
  if (op.parameters.contains("filter")) filter_ = filter_named(op.text("filter"));
}

void WarpStep::add(Draw& draw, Geometry& geometry) const {
  Adjustment adjustment{.type = AdjustmentType::kWarp};
  adjustment.warp = draw_warp(draw, shown(geometry.passes.back()));
  adjustment.warp.filter = filter_;
  adjustment.warp.fill = fill_;
  adjust(adjustment, geometry);
}

}  // namespace spdld::image
