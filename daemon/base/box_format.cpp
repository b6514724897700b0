#include "daemon/base/box_format.h"

#include <stdexcept>
#include <string>

namespace spdld {

BoxFormat box_format_named(std::string_view name) {
  if (name == "xyxy") return BoxFormat::kXyxy;
  if (name == "xywh") return BoxFormat::kXywh;
  if (name == "cxcywh") return BoxFormat::kCxcywh;
  throw std::logic_error("no format of boxes is called " + std::string(name));
}

Corners corners_of(BoxFormat format, const float* numbers) {
  const float x = numbers[0], y = numbers[1], third = numbers[2], fourth = numbers[3];
  switch (format) {
    case BoxFormat::kXyxy:
      return {x, y, third, fourth};
    case BoxFormat::kXywh:
      return {x, y, x + third, y + fourth};
    case BoxFormat::kCxcywh:
      return {x - third / 2, y - fourth / 2, (x - third / 2) + third, (y - fourth / 2) + fourth};
  }
  return {};
}

void write_box(BoxFormat format, const Corners& box, float* numbers) {
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  switch (format) {
    case BoxFormat::kXyxy:
      numbers[0] = box.x1;
      numbers[1] = box.y1;
      numbers[2] = box.x2;
      numbers[3] = box.y2;
      return;
    case BoxFormat::kXywh:
      numbers[0] = box.x1;
      numbers[1] = box.y1;
      numbers[2] = width;
      numbers[3] = height;
      return;
    case BoxFormat::kCxcywh:
      numbers[0] = (box.x1 * 2 + width) / 2;
      numbers[1] = (box.y1 * 2 + height) / 2;
      numbers[2] = width;
      numbers[3] = height;
      return;
  }
}

}  // namespace spdld
