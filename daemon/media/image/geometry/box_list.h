// The boxes of a sample's list: how they are read, and the boxes by which a picture's geometry is chosen. Plain values
// and pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "config/spec.h"
#include "daemon/base/box_format.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/adjustments/warper.h"

namespace spdld::image {

using spdld::box_format_named;
using spdld::BoxFormat;
using spdld::Corners;
using spdld::corners_of;
using spdld::write_box;

// How the rows of a list are to be read.
struct BoxReading {
  BoxFormat format = BoxFormat::kXyxy;
  bool is_relative = false;  // the numbers are parts of the picture's width and height

  // Row `place` of the list, which begins at `row`, in pixels of the picture. kContent: the row is no box.
  Result<Corners> read(const float* row, uint64_t place, const Size& picture) const;
};
// The operation's `format` and `relative`.
BoxReading reading_of(const config::OperationSpec& op);

// The boxes by which steps choose the geometry of a picture. Its memory is reused.
struct DecidingBoxes {
  std::vector<Corners> listed;   // in pixels of the picture; set before the steps are applied
  std::vector<bool> is_dropped;  // by a step, for each of them
  std::vector<Corners> now;      // for steps: in pixels of what the steps before have left
  Warper warper;                 // for steps
};

}  // namespace spdld::image
