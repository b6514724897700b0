#include "daemon/media/image/geometry.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// CenterCrop's place along one side: a smaller picture is padded on both sides first (the odd pixel behind it).
int crop_start(int side, int wanted) {
  if (wanted > side) return -((wanted - side) / 2);
  return round_even((side - wanted) / 2.0);
}

bool cuts(const Pass& pass) { return inside_of(pass) != Box{0, 0, pass.size.width, pass.size.height}; }

class CenterCrop final : public GeometryStep {
 public:
  explicit CenterCrop(const config::OperationSpec& op) : size_(size_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    int x = crop_start(now.width, size_.width);
    const int y = crop_start(now.height, size_.height);
    // A border that is added now is black, also where an operation before has cut the picture.
    const bool adds_border = x < 0 || y < 0;
    if (adds_border && cuts(geometry.passes.back())) {
      const Box whole{0, 0, now.width, now.height};
      geometry.passes.push_back({.box = whole, .size = now, .window = whole});
    }
    Pass& pass = geometry.passes.back();
    if (pass.mirrored) x = now.width - x - size_.width;
    pass.window = {pass.window.x + x, pass.window.y + y, size_.width, size_.height};
  }

 private:
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void center_crop(const Part& part, Nodes& nodes) {
  image::picture_node(nodes).add(std::make_unique<image::CenterCrop>(part.spec));
}

}  // namespace spdld::media::ops
