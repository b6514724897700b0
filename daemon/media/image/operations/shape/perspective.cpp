#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's RandomPerspective, with our own numbers: each corner moves inwards by whole pixels.
class RandomPerspective final : public WarpStep {
 public:
  explicit RandomPerspective(const config::OperationSpec& op) : WarpStep(op), by_(op.number("distortion_scale")) {}

 private:
  Warp draw_warp(Draw& draw, const Size& picture) const override {
    const auto inwards = [&](int side) { return static_cast<double>(draw.below(most(side) + 1)); };
    const double right = picture.width - 1, bottom = picture.height - 1;
    const std::array<Place, 4> from = {Place{0, 0}, Place{right, 0}, Place{right, bottom}, Place{0, bottom}};
    std::array<Place, 4> to;
    for (size_t i = 0; i < to.size(); ++i) {
      const double x = inwards(picture.width), y = inwards(picture.height);
      to[i] = {from[i].x == 0 ? x : right - x, from[i].y == 0 ? y : bottom - y};
    }
    return perspective_warp(picture, from, to);
  }
  uint64_t most(int side) const { return static_cast<uint64_t>(by_ * (side / 2)); }

  double by_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void perspective(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomPerspective>(placed.spec));
}

}  // namespace spdld::media::ops
