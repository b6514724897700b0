#include "config/picture_pixels.h"

namespace spdld::config {

PicturePixels picture_pixels(const OperationSpec& spec) {
  PicturePixels pixels;
  if (spec.parameters.contains("colours")) pixels.colours = spec.text("colours");
  if (spec.parameters.contains("bits")) pixels.bits = static_cast<int>(spec.integer("bits"));
  pixels.srgb = spec.parameters.contains("profile") && spec.text("profile") == "srgb";
  if (spec.parameters.contains("frame")) pixels.frame = static_cast<int>(spec.integer("frame"));
  if (spec.parameters.contains("frames")) pixels.frames = static_cast<int>(spec.integer("frames"));
  return pixels;
}

bool resamples_as_pillow(const OperationSpec& spec) {
  return spec.parameters.contains("resampling") && spec.text("resampling") == "pillow";
}

std::string filter_of(const OperationSpec& spec) {
  return spec.parameters.contains("filter") ? spec.text("filter") : std::string(kBilinear);
}

}  // namespace spdld::config
