// The pieces that five-crop and ten-crop cut out of a picture. Constant after construction; any thread.
#pragma once

#include "config/spec.h"
#include "daemon/media/image/geometry/geometry.h"

namespace spdld::image {

// The corners and the middle of the operation's `size`, in torchvision's order. `turned`: the same of the mirrored
// picture follow, by &Pass::mirrored or &Pass::flipped; null: there are no more.
class CornerCrops final : public GeometryStep {
 public:
  CornerCrops(const config::OperationSpec& op, bool Pass::*turned) : size_(size_of(op)), turned_(turned) {}
  void apply(const Draws& draws, Geometry& geometry) const override;

 private:
  Size size_;
  bool Pass::*turned_;
};

}  // namespace spdld::image
