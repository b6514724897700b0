// A mirror of the picture along one of its sides, with a probability. Constant after construction; any thread.
#pragma once

#include <cstdint>

#include "config/spec.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::image {

class Flip final : public GeometryStep {
 public:
  // `side`: &Pass::mirrored, left and right; &Pass::flipped, top and bottom.
  Flip(const config::OperationSpec& op, bool Pass::*side)
      : probability_(op.number("p")), draw_(draw_of(op)), side_(side) {}

  void apply(const Draws& draws, Geometry& geometry) const override {
    bool& turned = geometry.passes.back().*side_;
    const bool flips = draws.named(draw_).uniform(0, 1) < probability_;
    turned = turned != flips;
  }

 private:
  double probability_;
  uint64_t draw_;  // key
  bool Pass::*side_;
};

}  // namespace spdld::image
