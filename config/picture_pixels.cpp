#include "config/picture_pixels.h"

namespace spdld::config {

PicturePixels picture_pixels(const OperationSpec& spec) {
  PicturePixels pixels;
  if (spec.parameters.contains("colours")) pixels.colours = spec.text("colours");
  if (spec.parameters.contains("bits")) pixels.bits = static_cast<int>(spec.integer("bits"));
  return pixels;
}

}  // namespace spdld::config
