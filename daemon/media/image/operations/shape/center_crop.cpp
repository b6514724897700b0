#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// CenterCrop's place along one side: a smaller picture is padded on both sides first (the odd pixel behind it).
int crop_start(int side, int wanted) {
  if (wanted > side) return -((wanted - side) / 2);
  return round_even((side - wanted) / 2.0);
}

class CenterCrop final : public GeometryStep {
 public:
  explicit CenterCrop(const config::OperationSpec& op) : size_(size_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    const int x = crop_start(now.width, size_.width), y = crop_start(now.height, size_.height);
    crop_box({x, y, size_.width, size_.height}, geometry.passes);
  }

 private:
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void center_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::CenterCrop>(placed.spec));
}

}  // namespace spdld::media::ops
