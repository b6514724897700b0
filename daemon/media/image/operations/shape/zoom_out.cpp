#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's RandomZoomOut, with our own numbers.
class ZoomOut final : public WarpStep {
 public:
  explicit ZoomOut(const config::OperationSpec& op) : WarpStep(op), sides_(range_of(op, "side_range")) {}

 private:
  Warp draw_warp(Draw& draw, const Size& picture) const override {
    const double by = sides_.from(draw);
    const int width = static_cast<int>(picture.width * by) - picture.width;
    const int height = static_cast<int>(picture.height * by) - picture.height;
    const int left = static_cast<int>(width * draw.uniform(0, 1)), top = static_cast<int>(height * draw.uniform(0, 1));
    return border_warp(picture, {left, top, width - left, height - top}, BorderKind::kConstant);
  }

  Range sides_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void zoom_out(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::ZoomOut>(placed.spec));
}

}  // namespace spdld::media::ops
