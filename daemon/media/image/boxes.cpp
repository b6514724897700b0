#include <cmath>

#include "daemon/media/image/view.h"
#include "daemon/media/image/view_list.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Boxes final : public ViewListNode {
 public:
  explicit Boxes(const media::Part& part)
      : ViewListNode(part, 4),
        format_(box_format_named(part.spec.text("format"))),
        gives_(part.spec.text("gives").empty() ? format_ : box_format_named(part.spec.text("gives"))),
        is_relative_(part.spec.flag("relative")),
        side_min_(static_cast<float>(part.spec.number("min_size"))),
        area_min_(static_cast<float>(part.spec.number("min_area"))) {}

 private:
  Result<bool> move(float* row, uint64_t place, View& view) const override {
    const Result<Corners> box = read_box(row, place, view.picture);
    if (!box) return box.error();
    const Corners left = seen(view, *box);
    if (!is_large(left)) return false;
    write_box(gives_, left, row);
    return true;
  }

  Result<Corners> read_box(const float* numbers, uint64_t place, const Size& picture) const {
    float box[4];
    for (size_t i = 0; i < 4; ++i)
      box[i] = is_relative_ ? numbers[i] * static_cast<float>(i % 2 == 0 ? picture.width : picture.height) : numbers[i];
    const Corners corners = corners_of(format_, box);
    const bool is_finite = std::isfinite(corners.x1) && std::isfinite(corners.y1) && std::isfinite(corners.x2) &&
                           std::isfinite(corners.y2);
    if (!is_finite || corners.x2 < corners.x1 || corners.y2 < corners.y1)
      return Error{Trouble::kContent,
                   "box " + std::to_string(place) + " (counted from 0) " +
                       (is_finite ? "has a negative width or height" : "has numbers that are too large")};
    return corners;
  }

  // As torchvision's SanitizeBoundingBoxes decides.
  bool is_large(const Corners& box) const {
    const float width = box.x2 - box.x1, height = box.y2 - box.y1;
    return width >= side_min_ && height >= side_min_ && width * height >= area_min_;
  }

  BoxFormat format_, gives_;
  bool is_relative_;
  float side_min_, area_min_;  // pixels at the end
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void boxes(const Part& part, Nodes& nodes) { nodes.push_back(std::make_unique<image::Boxes>(part)); }

}  // namespace spdld::media::ops
