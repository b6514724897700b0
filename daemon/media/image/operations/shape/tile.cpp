#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// Stands right behind decode-image: the pass is the untouched picture.
class Tile final : public GeometryStep {
 public:
  explicit Tile(const config::OperationSpec& op) : size_(size_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    Pass& pass = geometry.passes.back();
    const Size now = shown(pass);
    const RowPart& part = geometry.part;
    geometry.has_its_part = now == Size{static_cast<int>(part.width), static_cast<int>(part.height)};
    if (!geometry.has_its_part) return;
    pass.window = {static_cast<int>(part.x), static_cast<int>(part.y), size_.width, size_.height};
  }

 private:
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void tile(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Tile>(placed.spec));
}

}  // namespace spdld::media::ops
