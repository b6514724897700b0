#include "config/picture_pixels.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

Pixels pixels_of(const config::OperationSpec& spec) {
  const config::PicturePixels wanted = config::picture_pixels(spec);
  const Colours colours = wanted.colours == "grey"   ? Colours::kGrey
                          : wanted.colours == "rgba" ? Colours::kRgba
                                                     : Colours::kRgb;
  return {colours, wanted.bits, wanted.srgb, wanted.frame, wanted.frames};
}

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void decode_image(const PlacedOperation& placed, Nodes& nodes) {
  const auto& spec = placed.spec;
  const image::DecodeWay way{.exif = spec.flag("exif"),
                             .fast = spec.flag("fast"),
                             .strict = spec.flag("strict"),
                             .pixels = image::pixels_of(spec)};
  nodes.push_back(std::make_unique<image::PictureNode>(way, config::resamples_as_pillow(spec)));
}

}  // namespace spdld::media::ops
