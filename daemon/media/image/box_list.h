// The boxes of a sample's list: how their numbers are to be read and written, and the boxes by which a picture's
// geometry is chosen. Plain values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/warper.h"

namespace spdld::image {

struct Corners {  // x1 <= x2, y1 <= y2
  float x1, y1, x2, y2;
};

// How the four numbers of a box are to be read: corners, or a corner or the centre with width and height.
enum class BoxFormat : uint8_t { kXyxy, kXywh, kCxcywh };
BoxFormat box_format_named(std::string_view name);  // "xyxy", "xywh", "cxcywh"
Corners corners_of(BoxFormat format, const float* numbers);
void write_box(BoxFormat format, const Corners& box, float* numbers);

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
