#include <algorithm>
#include <optional>
#include <vector>

#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr int kRoundsMax = 100;  // of trials; torchvision goes on until it draws the option 1

// The part of both boxes that they have in common (intersection over union), in torchvision's order of float32.
float overlap(const Corners& one, const Corners& other) {
  const auto area = [](const Corners& box) { return (box.x2 - box.x1) * (box.y2 - box.y1); };
  const float width = std::max(std::min(one.x2, other.x2) - std::max(one.x1, other.x1), 0.0F);
  const float height = std::max(std::min(one.y2, other.y2) - std::max(one.y1, other.y1), 0.0F);
  const float both = width * height;
  return both / (area(one) + area(other) - both);
}

bool has_centre_of(const Corners& crop, const Corners& box) {
  const float x = 0.5F * (box.x1 + box.x2), y = 0.5F * (box.y1 + box.y2);
  return crop.x1 < x && x < crop.x2 && crop.y1 < y && y < crop.y2;
}

Corners corners_of(const Box& box) {
  return {static_cast<float>(box.x), static_cast<float>(box.y), static_cast<float>(box.x + box.width),
          static_cast<float>(box.y + box.height)};
}

float fraction(Draw& draw) { return static_cast<float>(draw.uniform(0, 1)); }
int part_of(int side, float part) { return static_cast<int>(static_cast<float>(side) * part); }

// torchvision's RandomIoUCrop, with our own numbers.
class RandomIouCrop final : public GeometryStep {
 public:
  explicit RandomIouCrop(const config::OperationSpec& op)
      : scale_min_(static_cast<float>(op.number("min_scale"))),
        scale_range_(static_cast<float>(op.number("max_scale") - op.number("min_scale"))),
        ratio_min_(op.number("min_aspect_ratio")),
        ratio_max_(op.number("max_aspect_ratio")),
        options_(op.numbers("sampler_options")),
        trials_(op.integer("trials")),
        draw_(draw_of(op)) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    see_boxes(geometry);
    DecidingBoxes& boxes = geometry.boxes;
    const bool has_boxes = std::find(boxes.is_dropped.begin(), boxes.is_dropped.end(), false) != boxes.is_dropped.end();
    if (!has_boxes) return;
    Draw draw = draws.named(draw_);
    const std::optional<Box> crop = draw_crop(shown(geometry.passes.back()), boxes, draw);
    if (!crop) return;
    const Corners corners = corners_of(*crop);
    for (size_t i = 0; i < boxes.now.size(); ++i)
      if (!has_centre_of(corners, boxes.now[i])) boxes.is_dropped[i] = true;
    crop_box(*crop, geometry.passes);
  }

 private:
  // A box may reach beyond the sample's own picture, and is cut off by the first operation.
  static void see_boxes(Geometry& geometry) {
    DecidingBoxes& boxes = geometry.boxes;
    boxes.now.clear();
    const bool is_own = geometry.passes.size() == 1 && is_untouched(geometry.passes.front());
    for (const Corners& box : boxes.listed)
      boxes.now.push_back(is_own ? box : seen(geometry.passes, geometry.adjustments, boxes.warper, box));
  }

  // None: the picture stays as it is.
  std::optional<Box> draw_crop(const Size& picture, const DecidingBoxes& boxes, Draw& draw) const {
    for (int round = 0; round < kRoundsMax; ++round) {
      const double least = options_[draw.below(options_.size())];
      if (least >= 1) return std::nullopt;
      for (int64_t trial = 0; trial < trials_; ++trial) {
        const std::optional<Box> crop = draw_box(picture, draw);
        if (crop && fits(*crop, boxes, static_cast<float>(least))) return crop;
      }
    }
    return std::nullopt;
  }

  // None: it has another ratio than is allowed, or no area.
  std::optional<Box> draw_box(const Size& picture, Draw& draw) const {
    const float across = fraction(draw), down = fraction(draw);
    const int width = part_of(picture.width, scale_min_ + scale_range_ * across);
    const int height = part_of(picture.height, scale_min_ + scale_range_ * down);
    if (width == 0 || height == 0) return std::nullopt;
    const double ratio = static_cast<double>(width) / height;
    if (ratio < ratio_min_ || ratio > ratio_max_) return std::nullopt;
    const int left = part_of(picture.width - width, fraction(draw));
    const int top = part_of(picture.height - height, fraction(draw));
    return Box{left, top, width, height};
  }

  // Whether a box with its centre in the crop overlaps it so much.
  static bool fits(const Box& crop, const DecidingBoxes& boxes, float least) {
    const Corners corners = corners_of(crop);
    for (size_t i = 0; i < boxes.now.size(); ++i) {
      const bool counts = !boxes.is_dropped[i] && has_centre_of(corners, boxes.now[i]);
      if (counts && overlap(boxes.now[i], corners) >= least) return true;
    }
    return false;
  }

  float scale_min_, scale_range_;  // of a side
  double ratio_min_, ratio_max_;
  std::vector<double> options_;
  int64_t trials_;
  uint64_t draw_;  // key
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_iou_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::ProgramNode& node = image::program_node(nodes);
  node.add(std::make_unique<image::RandomIouCrop>(placed.spec));
  node.ask_for_boxes();
}

}  // namespace spdld::media::ops
