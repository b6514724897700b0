#include "daemon/media/image/geometry/resizing_step.h"

#include <algorithm>

namespace spdld::image {

void ResizingStep::apply(const Draws& draws, Geometry& geometry) const {
  Draw draw = draws.named(draw_);
  const Size now = shown(geometry.passes.back());
  const Size size = draw_size(draw, now);
  if (size != now && is_allowed(size, geometry)) resize_box({0, 0, now.width, now.height}, size, how_, geometry);
}

Size scaled(const Size& size, double by) {
  return {std::max(static_cast<int>(size.width * by), 1), std::max(static_cast<int>(size.height * by), 1)};
}

}  // namespace spdld::image
