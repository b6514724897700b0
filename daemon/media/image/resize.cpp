#include "config/picture_size.h"
#include "daemon/media/image/geometry.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// To a size, or so that the shorter side has a length.
class Resize final : public GeometryStep {
 public:
  explicit Resize(const config::OperationSpec& op)
      : size_(size_of(op)), is_shorter_(config::has_one_number(op)), how_(resampling_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    const Size size = is_shorter_ ? follow_shorter(now) : size_;
    if (size != now) resize_box({0, 0, now.width, now.height}, size, how_, geometry.passes);
  }

 private:
  Size follow_shorter(const Size& now) const {
    const config::PictureSize size = config::shorter_side_size({now.height, now.width}, size_.width);
    return {static_cast<int>(size.width), static_cast<int>(size.height)};
  }

  Size size_;
  bool is_shorter_;
  Resampling how_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void resize(const Part& part, Nodes& nodes) {
  image::picture_node(nodes).add(std::make_unique<image::Resize>(part.spec));
}

}  // namespace spdld::media::ops
