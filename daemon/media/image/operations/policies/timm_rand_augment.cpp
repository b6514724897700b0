// timm's RandAugment: fifteen changes, with their magnitudes, and how often they are done.
#include <algorithm>
#include <array>
#include <cmath>

#include "daemon/base/beta.h"
#include "daemon/media/image/adjustments/pillow_warp.h"
#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr double kMagnitudeMost = 10;
constexpr std::array kTimmChanges = {
    AdjustmentType::kAutocontrast, AdjustmentType::kEqualize,   AdjustmentType::kInvert,
    AdjustmentType::kWarp,         AdjustmentType::kPosterize,  AdjustmentType::kSolarize,
    AdjustmentType::kSolarizeAdd,  AdjustmentType::kSaturation, AdjustmentType::kContrast,
    AdjustmentType::kBrightness,   AdjustmentType::kSharpness};
constexpr size_t kRotation = 3;   // place of kTimmChanges
constexpr size_t kTimmWarps = 4;  // behind them: shears across and down, moves across and down

// The numbers that are drawn for one change.
struct TimmDraw {
  size_t change;
  bool is_done;
  double part;  // of the greatest magnitude
  double sign;
  Filter filter;
};

Warp timm_warp(const TimmDraw& drawn, const Size& picture) {
  const double shear = drawn.sign * (drawn.part * 0.3), move = drawn.sign * (drawn.part * 0.45);
  switch (drawn.change - kTimmChanges.size()) {
    case 0:
      return pillow_warp(picture, {1, shear, 0, 0, 1, 0});
    case 1:
      return pillow_warp(picture, {1, 0, 0, shear, 1, 0});
    case 2:
      return pillow_warp(picture, {1, 0, move * picture.width, 0, 1, 0});
    case 3:
      return pillow_warp(picture, {1, 0, 0, 0, 1, move * picture.height});
    default:
      return pillow_rotation(picture, drawn.sign * (drawn.part * 30));
  }
}

// The adjustment's amount, where it has one.
double timm_amount(AdjustmentType type, const TimmDraw& drawn, bool increases) {
  switch (type) {
    case AdjustmentType::kPosterize: {
      const double bits = std::trunc(drawn.part * 4);
      return increases ? 4 - bits : bits;
    }
    case AdjustmentType::kSolarize: {
      const double threshold = std::trunc(drawn.part * 256);
      return increases ? 256 - threshold : threshold;
    }
    case AdjustmentType::kSolarizeAdd:
      return std::trunc(drawn.part * 110);
    default:
      return increases ? std::max(0.1, 1 + drawn.sign * (drawn.part * 0.9)) : drawn.part * 1.8 + 0.1;
  }
}

class TimmRandAugment final : public AdjustingStep {
 public:
  explicit TimmRandAugment(const config::OperationSpec& op)
      : AdjustingStep(op),
        count_(static_cast<int>(op.integer("num_ops"))),
        magnitude_(op.number("magnitude")),
        deviation_(op.number("magnitude_std")),
        change_probability_(op.number("change_p")),
        increases_(op.flag("increasing")),
        filter_(op.text("filter") == "bilinear" ? Filter::kBilinear : Filter::kBicubic),
        draws_filter_(op.text("filter") == "random"),
        fill_(fill_of(op)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    for (int i = 0; i < count_; ++i) {
      const TimmDraw drawn = draw_one(draw);
      if (drawn.is_done) adjust(adjustment(drawn, shown(geometry.passes.back())), geometry);
    }
  }

  // Draws everything, also what this change does not need, so that the next one's numbers do not depend on it.
  TimmDraw draw_one(Draw& draw) const {
    TimmDraw drawn;
    drawn.change = draw.below(kTimmChanges.size() + kTimmWarps);
    drawn.is_done = draw.uniform(0, 1) < change_probability_;
    drawn.part = std::clamp(magnitude_ + deviation_ * draw_normal(draw), 0.0, kMagnitudeMost) / kMagnitudeMost;
    drawn.sign = draw.below(2) == 0 ? -1 : 1;
    const bool is_bilinear = draw.below(2) == 0;
    drawn.filter = !draws_filter_ ? filter_ : is_bilinear ? Filter::kBilinear : Filter::kBicubic;
    return drawn;
  }

  Adjustment adjustment(const TimmDraw& drawn, const Size& picture) const {
    if (drawn.change == kRotation || drawn.change >= kTimmChanges.size()) {
      Adjustment made{.type = AdjustmentType::kWarp, .warp = timm_warp(drawn, picture)};
      made.warp.filter = drawn.filter;
      made.warp.fill = fill_;
      return made;
    }
    const AdjustmentType type = kTimmChanges[drawn.change];
    return {.type = type, .amount = timm_amount(type, drawn, increases_), .has_pillows_values = true};
  }

  int count_;
  double magnitude_, deviation_, change_probability_;
  bool increases_;
  Filter filter_;
  bool draws_filter_;
  std::array<uint8_t, 3> fill_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void timm_rand_augment(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::TimmRandAugment>(placed.spec));
}

}  // namespace spdld::media::ops
