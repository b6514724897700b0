#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "config/size_schedule.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr int kAttemptsMax = 10;  // torchvision's, before it falls back to the middle of the picture

class RandomResizedCrop final : public GeometryStep {
 public:
  explicit RandomResizedCrop(const config::OperationSpec& op)
      : size_(size_of(op)), how_(resampling_of(op)), draw_(draw_of(op)) {
    for (const config::ScheduledSize& one : config::schedule_of(op))
      by_epoch_.push_back({static_cast<int>(one.size.width), static_cast<int>(one.size.height)});
    for (size_t i = 0; i < 2; ++i) {
      scale_[i] = op.numbers("scale")[i];
      ratio_[i] = op.numbers("ratio")[i];
    }
  }

  void apply(const Draws& draws, Geometry& geometry) const override {
    const auto& passes = geometry.passes;
    const Box box = draw_box(shown(passes.back()), draws.named(draw_));
    if (!is_resampled(geometry)) geometry.drawn = in_picture(passes, box);
    resize_box(box, by_epoch_.empty() ? size_ : by_epoch_.at(geometry.shape), how_, geometry);
  }

 private:
  // The picture's own pixels lie elsewhere than what the passes show.
  static bool is_resampled(const Geometry& geometry) {
    const auto moves = [](const Adjustment& adjustment) { return adjustment.moves(); };
    return std::any_of(geometry.passes.begin(), geometry.passes.end(), resamples) ||
           std::any_of(geometry.adjustments.begin(), geometry.adjustments.end(), moves);
  }
  static Box in_picture(const std::vector<Pass>& passes, Box box) {
    for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) box = in_source(*pass, box);
    return box;
  }

  // torchvision's RandomResizedCrop.get_params, with our own numbers.
  Box draw_box(const Size& picture, Draw draw) const {
    const double area = static_cast<double>(picture.width) * picture.height;
    const double log_low = std::log(ratio_[0]), log_high = std::log(ratio_[1]);
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      const double target = area * draw.uniform(scale_[0], scale_[1]);
      const double ratio = std::exp(draw.uniform(log_low, log_high));
      const int width = round_even(std::sqrt(target * ratio)), height = round_even(std::sqrt(target / ratio));
      if (width <= 0 || width > picture.width || height <= 0 || height > picture.height) continue;
      const auto y = static_cast<int>(draw.below(static_cast<uint64_t>(picture.height - height) + 1));
      const auto x = static_cast<int>(draw.below(static_cast<uint64_t>(picture.width - width) + 1));
      return {x, y, width, height};
    }
    const double ratio = static_cast<double>(picture.width) / picture.height;
    const double low = std::min(ratio_[0], ratio_[1]), high = std::max(ratio_[0], ratio_[1]);
    Size size = picture;
    if (ratio < low) size.height = std::clamp(round_even(picture.width / low), 1, picture.height);
    if (ratio > high) size.width = std::clamp(round_even(picture.height * high), 1, picture.width);
    return {(picture.width - size.width) / 2, (picture.height - size.height) / 2, size.width, size.height};
  }

  Size size_;
  std::vector<Size> by_epoch_;  // by the number of the batch's shape; empty: always size_
  Resampling how_;
  uint64_t draw_;                  // key
  std::array<double, 2> scale_{};  // of the area
  std::array<double, 2> ratio_{};  // width / height
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void random_resized_crop(const PlacedOperation& placed, Nodes& nodes) {
  image::ProgramNode& node = image::program_node(nodes);
  node.add(std::make_unique<image::RandomResizedCrop>(placed.spec));
  if (!placed.spec.text("box").empty()) node.write_drawn(placed.extra);
}

}  // namespace spdld::media::ops
