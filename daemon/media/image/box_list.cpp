#include "daemon/media/image/box_list.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace spdld::image {

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
      numbers[0] = box.x1, numbers[1] = box.y1, numbers[2] = box.x2, numbers[3] = box.y2;
      return;
    case BoxFormat::kXywh:
      numbers[0] = box.x1, numbers[1] = box.y1, numbers[2] = width, numbers[3] = height;
      return;
    case BoxFormat::kCxcywh:
      numbers[0] = (box.x1 * 2 + width) / 2, numbers[1] = (box.y1 * 2 + height) / 2;
      numbers[2] = width, numbers[3] = height;
      return;
  }
}

Result<Corners> BoxReading::read(const float* row, uint64_t place, const Size& picture) const {
  float box[4];
  for (size_t i = 0; i < 4; ++i)
    box[i] = is_relative ? row[i] * static_cast<float>(i % 2 == 0 ? picture.width : picture.height) : row[i];
  const Corners corners = corners_of(format, box);
  const bool is_finite =
      std::isfinite(corners.x1) && std::isfinite(corners.y1) && std::isfinite(corners.x2) && std::isfinite(corners.y2);
  if (!is_finite || corners.x2 < corners.x1 || corners.y2 < corners.y1)
    return Error{Trouble::kContent,
                 "box " + std::to_string(place) + " (counted from 0) " +
                     (is_finite ? "has a negative width or height" : "has numbers that are too large")};
  return corners;
}

BoxReading reading_of(const config::OperationSpec& op) {
  return {box_format_named(op.text("format")), op.flag("relative")};
}

}  // namespace spdld::image
