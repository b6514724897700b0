#include <algorithm>
#include <vector>

#include "config/batch_shapes.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class AspectBucket final : public GeometryStep {
 public:
  explicit AspectBucket(const config::OperationSpec& op)
      : how_(resampling_of(op)), is_random_(op.text("crop") == "random"), draw_(draw_of(op)) {
    for (const config::PictureSize& size : config::sizes_in(op.text("sizes")))
      sizes_.push_back({static_cast<int>(size.width), static_cast<int>(size.height)});
  }

  void apply(const Draws& draws, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back()), wanted = sizes_.at(geometry.shape);
    const Size size = covering(now, wanted);
    if (size != now) resize_box({0, 0, now.width, now.height}, size, how_, geometry);
    const int across = size.width - wanted.width, down = size.height - wanted.height;
    Box box{across / 2, down / 2, wanted.width, wanted.height};
    if (is_random_) {
      Draw draw = draws.named(draw_);
      box.y = static_cast<int>(draw.below(static_cast<uint64_t>(down) + 1));
      box.x = static_cast<int>(draw.below(static_cast<uint64_t>(across) + 1));
    }
    crop_box(box, geometry.passes);
  }

 private:
  // The smallest size of the picture's proportions that covers `wanted`, rounded half up.
  static Size covering(const Size& now, const Size& wanted) {
    const auto ratio = [](const Size& size) { return static_cast<double>(size.width) / size.height; };
    const double scale = ratio(now) > ratio(wanted) ? static_cast<double>(wanted.height) / now.height
                                                    : static_cast<double>(wanted.width) / now.width;
    return {std::max(static_cast<int>(now.width * scale + 0.5), wanted.width),
            std::max(static_cast<int>(now.height * scale + 0.5), wanted.height)};
  }

  Resampling how_;
  bool is_random_;
  uint64_t draw_;  // key
  std::vector<Size> sizes_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void aspect_bucket(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::AspectBucket>(placed.spec));
}

}  // namespace spdld::media::ops
