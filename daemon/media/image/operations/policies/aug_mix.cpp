#include "daemon/base/beta.h"
#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/operations/policies/augment.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr int kMixBins = 10;
constexpr size_t kBranchesMax = 8;
constexpr uint64_t kDrawnDepthMax = 3;

class AugMix final : public AdjustingStep {
 public:
  explicit AugMix(const config::OperationSpec& op)
      : AdjustingStep(op),
        changes_(aug_mix_changes(op.flag("all_ops"))),
        severity_(static_cast<int>(op.integer("severity"))),
        width_(static_cast<size_t>(op.integer("mixture_width"))),
        depth_(op.integer("chain_depth")),
        alpha_(op.number("alpha")),
        look_(look_of(op)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    std::array<double, kBranchesMax> parts;
    const auto weights = std::span(parts).first(width_);
    const double own = draw_beta(draw, alpha_);
    draw_parts(draw, alpha_, weights);
    const Size picture = shown(geometry.passes.back());
    const size_t mix = begin_mix(own, geometry);
    auto& adjustments = geometry.adjustments;
    for (const double weight : weights) add_branch((1 - own) * weight, picture, draw, adjustments);
    adjustments[mix].held = adjustments.size() - mix - 1;
  }

  void add_branch(double weight, const Size& picture, Draw& draw, std::vector<Adjustment>& adjustments) const {
    const size_t branch = adjustments.size();
    adjustments.push_back({.type = AdjustmentType::kBranch, .pass = Adjustment::kNoPass, .amount = weight});
    const uint64_t drawn = 1 + draw.below(kDrawnDepthMax);
    const uint64_t depth = depth_ > 0 ? static_cast<uint64_t>(depth_) : drawn;
    for (uint64_t i = 0; i < depth; ++i) {
      const DrawnChange change = draw_change(changes_, severity_, kMixBins, picture, draw);
      adjustments.push_back(*adjustment_of(change.change, change.magnitude, picture, look_));
      adjustments.back().pass = Adjustment::kNoPass;
    }
    adjustments[branch].held = adjustments.size() - branch - 1;
  }

  std::span<const ChangeRange> changes_;  // without the identity
  int severity_;
  size_t width_;
  int64_t depth_;  // -1 or 0: drawn
  double alpha_;
  Look look_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void aug_mix(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::AugMix>(placed.spec));
}

}  // namespace spdld::media::ops
