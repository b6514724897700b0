#include <algorithm>
#include <array>

#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// The range of torchvision's ColorJitter around the amount that changes nothing.
Range jitter_of(const config::OperationSpec& op, std::string_view name, double neutral, double least) {
  const auto& numbers = op.numbers(name);
  if (numbers.size() == 2) return {numbers[0], numbers[1]};
  return {std::max(least, neutral - numbers[0]), neutral + numbers[0]};
}

class ColorJitter final : public AdjustingStep {
 public:
  explicit ColorJitter(const config::OperationSpec& op)
      : AdjustingStep(op),
        changes_{{{AdjustmentType::kBrightness, jitter_of(op, "brightness", 1, 0), 1},
                  {AdjustmentType::kContrast, jitter_of(op, "contrast", 1, 0), 1},
                  {AdjustmentType::kSaturation, jitter_of(op, "saturation", 1, 0), 1},
                  {AdjustmentType::kHue, jitter_of(op, "hue", 0, -0.5), 0}}} {}

 private:
  struct Change {
    AdjustmentType type;
    Range range;
    double neutral;  // changes nothing
  };

  void add(Draw& draw, Geometry& geometry) const override {
    std::array<uint8_t, 4> order = {0, 1, 2, 3};
    shuffle(draw, std::span(order));
    std::array<double, 4> amounts;
    for (size_t i = 0; i < amounts.size(); ++i) amounts[i] = changes_[i].range.from(draw);
    for (const uint8_t i : order)
      if (!changes_[i].range.is_only(changes_[i].neutral))
        adjust({.type = changes_[i].type, .amount = amounts[i]}, geometry);
  }

  std::array<Change, 4> changes_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void color_jitter(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::ColorJitter>(placed.spec));
}

}  // namespace spdld::media::ops
