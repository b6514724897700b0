#include "daemon/media/image/geometry/adjusting_step.h"

namespace spdld::image {

void AdjustingStep::apply(const Draws& draws, Geometry& geometry) const {
  Draw draw = draws.named(draw_);
  if (draw.uniform(0, 1) >= probability_) return;
  const size_t before = geometry.adjustments.size();
  add(draw, geometry);
  for (size_t i = before; i < geometry.adjustments.size(); ++i) geometry.adjustments[i].operation = operation_;
}

Range range_of(const config::OperationSpec& op, std::string_view name) {
  const auto& numbers = op.numbers(name);
  return {numbers.front(), numbers.back()};
}

void AmountStep::add(Draw& draw, Geometry& geometry) const {
  adjust({.type = type_, .amount = range_.from(draw)}, geometry);
}

}  // namespace spdld::image
