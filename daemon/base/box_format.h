// Boxes around objects, and how their four numbers are written. Plain values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace spdld {

struct Corners {  // x1 <= x2, y1 <= y2
  float x1, y1, x2, y2;
};

// How the four numbers of a box are to be read: corners, or a corner or the centre with width and height.
enum class BoxFormat : uint8_t { kXyxy, kXywh, kCxcywh };
BoxFormat box_format_named(std::string_view name);  // "xyxy", "xywh", "cxcywh"
Corners corners_of(BoxFormat format, const float* numbers);
void write_box(BoxFormat format, const Corners& box, float* numbers);

}  // namespace spdld
