#include "config/picture_size.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Resize final : public GeometryStep {
 public:
  explicit Resize(const config::OperationSpec& op) : rule_(op), how_(resampling_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    const config::PictureSize wanted = rule_.size_for({now.height, now.width});
    const Size size{static_cast<int>(wanted.width), static_cast<int>(wanted.height)};
    if (size != now) resize_box({0, 0, now.width, now.height}, size, how_, geometry);
  }

 private:
  config::ResizeRule rule_;
  Resampling how_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void resize(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Resize>(placed.spec));
}

}  // namespace spdld::media::ops
