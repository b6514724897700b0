#include "daemon/media/image/geometry/corner_crops.h"

namespace spdld::image {
namespace {

// Adds the five pieces of what `whole` shows. Windows lie in the picture before it is mirrored.
void add_corners(const Pass& whole, const Size& size, std::vector<Pass>& pieces) {
  const int right = whole.size.width - size.width, bottom = whole.size.height - size.height;
  const Box boxes[] = {{0, 0, size.width, size.height},
                       {right, 0, size.width, size.height},
                       {0, bottom, size.width, size.height},
                       {right, bottom, size.width, size.height},
                       {round_even(right / 2.0), round_even(bottom / 2.0), size.width, size.height}};
  for (const Box& box : boxes) {
    pieces.push_back(whole);
    Box& window = pieces.back().window;
    window = box;
    if (whole.mirrored) window.x = right - box.x;
    if (whole.flipped) window.y = bottom - box.y;
  }
}

}  // namespace

void CornerCrops::apply(const Draws&, Geometry& geometry) const {
  const Size now = shown(geometry.passes.back());
  if (size_.width > now.width || size_.height > now.height) {
    geometry.too_small = now;
    return;
  }
  Pass whole = untouched(now);
  add_corners(whole, size_, geometry.pieces);
  if (turned_ == nullptr) return;
  whole.*turned_ = true;
  add_corners(whole, size_, geometry.pieces);
}

}  // namespace spdld::image
