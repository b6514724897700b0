// The steps of a chain that resize a picture to a drawn size. Constant after construction; any thread.
#pragma once

#include <cstdint>

#include "config/spec.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::image {

class ResizingStep : public GeometryStep {
 public:
  explicit ResizingStep(const config::OperationSpec& op) : how_(resampling_of(op)), draw_(draw_of(op)) {}
  void apply(const Draws& draws, Geometry& geometry) const final;

 protected:
  // Of a picture of the size `now`.
  virtual Size draw_size(Draw& draw, const Size& now) const = 0;

 private:
  Resampling how_;
  uint64_t draw_;  // key
};

// Both sides times `by`, rounded down, at least 1.
Size scaled(const Size& size, double by);

}  // namespace spdld::image
