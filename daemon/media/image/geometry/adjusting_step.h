// The steps of a chain that adjust the picture, its colours or its places: with probability `p`, each adds drawn
// adjustments behind the last pass. A step that resamples or cuts after it starts a pass of its own. Constant after
// construction; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "config/spec.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::image {

class AdjustingStep : public GeometryStep {
 public:
  explicit AdjustingStep(const config::OperationSpec& op)
      : operation_(name_of(op)), probability_(op.number("p")), draw_(draw_of(op)) {}
  void apply(const Draws& draws, Geometry& geometry) const final;

 protected:
  // Draws what the adjustments need, and adds them with image::adjust(). `draw` has given one number, for the
  // probability.
  virtual void add(Draw& draw, Geometry& geometry) const = 0;

 private:
  std::string_view operation_;
  double probability_;
  uint64_t draw_;  // key
};

// A number that is drawn uniformly from [least, greatest].
struct Range {
  double least = 0, greatest = 0;
  double from(Draw& draw) const { return draw.uniform(least, greatest); }
  bool is_only(double value) const { return least == value && greatest == value; }
};
// The operation's list of one or two numbers: one stands for both.
Range range_of(const config::OperationSpec& op, std::string_view name);

// Puts the places into a random order; all orders are equally likely (Fisher and Yates).
inline void shuffle(Draw& draw, std::span<uint8_t> places) {
  for (size_t left = places.size(); left > 1; --left) std::swap(places[left - 1], places[draw.below(left)]);
}

// One adjustment whose amount is drawn from the range of this parameter.
class AmountStep final : public AdjustingStep {
 public:
  AmountStep(const config::OperationSpec& op, AdjustmentType type, std::string_view parameter)
      : AdjustingStep(op), type_(type), range_(range_of(op, parameter)) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override;

  AdjustmentType type_;
  Range range_;
};

// One adjustment whose numbers are all known before the samples are.
class GivenStep final : public AdjustingStep {
 public:
  GivenStep(const config::OperationSpec& op, const Adjustment& adjustment)
      : AdjustingStep(op), adjustment_(adjustment) {}

 private:
  void add(Draw&, Geometry& geometry) const override { adjust(adjustment_, geometry); }

  Adjustment adjustment_;
};

}  // namespace spdld::image
