#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/geometry/view_list.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Boxes final : public ViewListNode {
 public:
  explicit Boxes(const media::PlacedOperation& placed)
      : ViewListNode(placed, 4),
        reading_(reading_of(placed.spec)),
        gives_(placed.spec.text("gives").empty() ? reading_.format : box_format_named(placed.spec.text("gives"))),
        side_min_(static_cast<float>(placed.spec.number("min_size"))),
        area_min_(static_cast<float>(placed.spec.number("min_area"))) {}

  // The boxes decide the geometry of their view.
  Status advise(const media::Value& value, const media::Call& call) const override {
    const Result<std::span<float>> numbers = read(value, call);
    if (!numbers) return numbers.error();
    list_boxes(call, output(), reading_, *numbers);
    return Done{};
  }

 private:
  Result<bool> move(float* row, uint64_t place, View& view) const override {
    const Result<Corners> box = reading_.read(row, place, view.picture);
    if (!box) return box.error();
    const Corners left = seen(view, *box);
    if (!is_large(left)) return false;
    write_box(gives_, left, row);
    return true;
  }

  // As torchvision's SanitizeBoundingBoxes decides.
  bool is_large(const Corners& box) const {
    const float width = box.x2 - box.x1, height = box.y2 - box.y1;
    return width >= side_min_ && height >= side_min_ && width * height >= area_min_;
  }

  BoxReading reading_;
  BoxFormat gives_;
  float side_min_, area_min_;  // pixels at the end
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void boxes(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<image::Boxes>(placed)); }

}  // namespace spdld::media::ops
