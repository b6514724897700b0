#include "config/picture_size.h"
#include "daemon/media/image/geometry/resizing_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's RandomResize, with our own numbers.
class RandomResize final : public ResizingStep {
 public:
  explicit RandomResize(const config::OperationSpec& op)
      : ResizingStep(op),
        least_(static_cast<int64_t>(op.numbers("size")[0])),
        count_(static_cast<uint64_t>(op.numbers("size")[1]) - static_cast<uint64_t>(least_)) {}

 private:
  Size draw_size(Draw& draw, const Size& now) const override {
    const auto shorter = least_ + static_cast<int64_t>(draw.below(count_));
    const config::PictureSize size = config::shorter_side_size({now.height, now.width}, shorter);
    return {static_cast<int>(size.width), static_cast<int>(size.height)};
  }

  int64_t least_;
  uint64_t count_;  // of lengths
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_resize(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomResize>(placed.spec));
}

}  // namespace spdld::media::ops
