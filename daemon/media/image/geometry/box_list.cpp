#include "daemon/media/image/geometry/box_list.h"

#include <cmath>
#include <string>

namespace spdld::image {

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
