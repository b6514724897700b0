#include <array>

#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

Range gain_of(const config::OperationSpec& op, std::string_view name) {
  const auto& numbers = op.numbers(name);
  if (numbers.size() == 2) return {numbers[0], numbers[1]};
  return {1 - numbers[0], 1 + numbers[0]};
}

// YOLO's random gains of hue, saturation and value.
class HsvGains final : public AdjustingStep {
 public:
  explicit HsvGains(const config::OperationSpec& op)
      : AdjustingStep(op), ranges_{gain_of(op, "hue"), gain_of(op, "saturation"), gain_of(op, "value")} {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    Adjustment adjustment{.type = AdjustmentType::kHsvGains};
    for (size_t i = 0; i < ranges_.size(); ++i) adjustment.gains[i] = ranges_[i].from(draw);
    adjust(adjustment, geometry);
  }

  std::array<Range, 3> ranges_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void hsv_gains(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::HsvGains>(placed.spec));
}

}  // namespace spdld::media::ops
