#include <algorithm>

#include "daemon/media/image/geometry/resizing_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's RandomShortestSize, with our own numbers.
class RandomShortestSize final : public ResizingStep {
 public:
  explicit RandomShortestSize(const config::OperationSpec& op)
      : ResizingStep(op), sizes_(op.numbers("sizes")), longest_(static_cast<double>(op.integer("max_size"))) {}

 private:
  Size draw_size(Draw& draw, const Size& now) const override {
    const double by = sizes_[draw.below(sizes_.size())] / std::min(now.width, now.height);
    return scaled(now, longest_ > 0 ? std::min(by, longest_ / std::max(now.width, now.height)) : by);
  }

  std::vector<double> sizes_;
  double longest_;  // 0: unbounded
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_shortest_size(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomShortestSize>(placed.spec));
}

}  // namespace spdld::media::ops
