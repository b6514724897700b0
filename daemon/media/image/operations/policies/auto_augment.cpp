#include <algorithm>

#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/operations/policies/augment.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr int kLearntBins = 10;

class AutoAugment final : public AdjustingStep {
 public:
  explicit AutoAugment(const config::OperationSpec& op)
      : AdjustingStep(op), pairs_(learnt_pairs(op.text("policy"))), look_(look_of(op)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    for (const LearntChange& learnt : pairs_[draw.below(pairs_.size())]) {
      const bool is_done = draw.uniform(0, 1) < learnt.probability;
      const auto changes = auto_augment_changes();
      const auto range = std::find_if(changes.begin(), changes.end(),
                                      [&](const ChangeRange& one) { return one.change == learnt.change; });
      const Size picture = shown(geometry.passes.back());
      const double magnitude = with_sign(*range, magnitude_of(*range, learnt.bin, kLearntBins, picture), draw);
      if (is_done) adjust(*adjustment_of(learnt.change, magnitude, picture, look_), geometry);
    }
  }

  const LearntPairs& pairs_;
  Look look_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void auto_augment(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::AutoAugment>(placed.spec));
}

}  // namespace spdld::media::ops
