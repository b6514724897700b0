#include "daemon/media/image/colour_step.h"

namespace spdld::image {

void ColourStep::apply(const Draws& draws, Geometry& geometry) const {
  Draw draw = draws.named(draw_);
  if (draw.uniform(0, 1) < probability_) adjust(draw, geometry);
}

void ColourStep::add(const Adjustment& adjustment, Geometry& geometry) {
  geometry.adjustments.push_back(adjustment);
  geometry.adjustments.back().pass = geometry.passes.size() - 1;
  geometry.passes.back().coloured = true;
}

Range range_of(const config::OperationSpec& op, std::string_view name) {
  const auto& numbers = op.numbers(name);
  return {numbers.front(), numbers.back()};
}

void AmountStep::adjust(Draw& draw, Geometry& geometry) const {
  add({.kind = kind_, .amount = range_.from(draw)}, geometry);
}

}  // namespace spdld::image
