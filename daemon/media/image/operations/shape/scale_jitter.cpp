#include <algorithm>

#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/geometry/resizing_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's ScaleJitter, with our own numbers. It exchanges the box's height and width, and this does not.
class ScaleJitter final : public ResizingStep {
 public:
  explicit ScaleJitter(const config::OperationSpec& op)
      : ResizingStep(op), box_(size_of(op)), scale_(range_of(op, "scale")) {}

 private:
  Size draw_size(Draw& draw, const Size& now) const override {
    const double fits =
        std::min(static_cast<double>(box_.height) / now.height, static_cast<double>(box_.width) / now.width);
    return scaled(now, fits * scale_.from(draw));
  }

  Size box_;
  Range scale_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void scale_jitter(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::ScaleJitter>(placed.spec));
}

}  // namespace spdld::media::ops
