// The steps of a chain that warp the picture. Constant after construction; any thread.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "config/spec.h"
#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/image/geometry/adjusting_step.h"

namespace spdld::image {

// The operation's `fill`: one number is for all channels.
std::array<uint8_t, 3> fill_of(const config::OperationSpec& op);
// The operation's `center`.
std::optional<Place> center_of(const config::OperationSpec& op);

// Puts a border around what is shown so far; `fill` is for BorderKind::kConstant, and `operation` wants it (name_of).
void add_border(const Border& border, BorderKind kind, const std::array<uint8_t, 3>& fill, std::string_view operation,
                Geometry& geometry);

// A warp that is drawn for the picture's size, with the operation's `filter` and `fill`.
class WarpStep : public AdjustingStep {
 public:
  explicit WarpStep(const config::OperationSpec& op);

 protected:
  virtual Warp draw_warp(Draw& draw, const Size& picture) const = 0;

 private:
  void add(Draw& draw, Geometry& geometry) const final;

  Filter filter_ = Filter::kNearest;
  std::array<uint8_t, 3> fill_;
};

}  // namespace spdld::image
