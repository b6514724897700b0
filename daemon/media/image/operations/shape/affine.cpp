#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// torchvision's RandomAffine, with our own numbers.
class RandomAffine final : public WarpStep {
 public:
  explicit RandomAffine(const config::OperationSpec& op)
      : WarpStep(op), degrees_(range_of(op, "degrees")), scale_(range_of(op, "scale")), center_(center_of(op)) {
    across_ = op.numbers("translate").front();
    down_ = op.numbers("translate").back();
    const auto& shear = op.numbers("shear");
    shear_x_ = {shear[0], shear[1]};
    if (shear.size() == 4) shear_y_ = {shear[2], shear[3]};
  }

 private:
  Warp draw_warp(Draw& draw, const Size& picture) const override {
    Affine affine;
    affine.angle_degrees = degrees_.from(draw);
    affine.translate_x = shift(across_ * picture.width, draw);
    affine.translate_y = shift(down_ * picture.height, draw);
    affine.scale = scale_.from(draw);
    affine.shear_x_degrees = shear_x_.from(draw);
    affine.shear_y_degrees = shear_y_.from(draw);
    affine.centre = center_;
    return affine_warp(picture, affine);
  }
  static double shift(double most, Draw& draw) { return round_even(draw.uniform(-most, most)); }

  Range degrees_, scale_, shear_x_, shear_y_;
  double across_, down_;  // the most, in parts of the sides
  std::optional<Place> center_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void affine(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::RandomAffine>(placed.spec));
}

}  // namespace spdld::media::ops
