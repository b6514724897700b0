#include <algorithm>

#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class PadTo final : public GeometryStep {
 public:
  PadTo(const config::OperationSpec& op, size_t box_tensor)
      : operation_(name_of(op)),
        size_(size_of(op)),
        is_in_middle_(op.text("place") == "middle"),
        gives_box_(!op.text("box").empty()),
        box_tensor_(box_tensor),
        fill_(fill_of(op)) {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    const int across = std::max(0, size_.width - now.width), down = std::max(0, size_.height - now.height);
    // The odd pixel of a border stands behind the picture.
    const int left = is_in_middle_ ? across / 2 : 0, top = is_in_middle_ ? down / 2 : 0;
    if (gives_box_) geometry.placed.push_back({box_tensor_, {left, top, now.width, now.height}});
    if (across == 0 && down == 0) return;
    add_border({left, top, across - left, down - top}, BorderKind::kConstant, fill_, operation_, geometry);
  }

 private:
  std::string_view operation_;
  Size size_;
  bool is_in_middle_;
  bool gives_box_;
  size_t box_tensor_;
  std::array<uint8_t, 3> fill_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void pad_to(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::PadTo>(placed.spec, placed.extra));
}

}  // namespace spdld::media::ops
