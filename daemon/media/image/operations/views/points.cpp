#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/geometry/view_list.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Points final : public ViewListNode {
 public:
  explicit Points(const media::PlacedOperation& placed)
      : ViewListNode(placed, 2),
        is_relative_(placed.spec.flag("relative")),
        drops_(placed.spec.text("outside") == "drop") {}

 private:
  Result<bool> move(float* row, uint64_t, View& view) const override {
    const auto width = static_cast<float>(is_relative_ ? view.picture.width : 1);
    const auto height = static_cast<float>(is_relative_ ? view.picture.height : 1);
    const SeenPoint point = seen(view, row[0] * width, row[1] * height);
    row[0] = point.x;
    row[1] = point.y;
    return point.is_inside || !drops_;
  }

  bool is_relative_, drops_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void points(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<image::Points>(placed)); }

}  // namespace spdld::media::ops
