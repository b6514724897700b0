#include "daemon/media/video/planes_of.h"

namespace spdld::video {
namespace {

struct Weights {
  double red, blue;  // of luma
};

Weights weights_of(ffmpeg::Matrix matrix) {
  switch (matrix) {
    case ffmpeg::Matrix::kBt709:
      return {0.2126, 0.0722};
    case ffmpeg::Matrix::kBt2020:
      return {0.2627, 0.0593};
    case ffmpeg::Matrix::kSmpte240:
      return {0.212, 0.087};
    case ffmpeg::Matrix::kFcc:
      return {0.30, 0.11};
    case ffmpeg::Matrix::kBt601:
      break;
  }
  return {0.299, 0.114};
}

}  // namespace

PlanesColours colours_of(const ffmpeg::VideoColours& colours) {
  const auto [red, blue] = weights_of(colours.matrix);
  const double green = 1 - red - blue;
  const double chroma = colours.is_full_range ? 1 : 255.0 / 224;
  return {.black = colours.is_full_range ? 0.0 : 16.0,
          .luma_scale = colours.is_full_range ? 1 : 255.0 / 219,
          .red_from_cr = chroma * 2 * (1 - red),
          .green_from_cb = -chroma * 2 * blue * (1 - blue) / green,
          .green_from_cr = -chroma * 2 * red * (1 - red) / green,
          .blue_from_cb = chroma * 2 * (1 - blue)};
}

PlanesView view_of(const ffmpeg::VideoPlanes& planes, const PlanesColours& colours) {
  PlanesView view;
  view.shape.picture = planes.picture;
  view.shape.chroma_across = static_cast<uint8_t>(planes.chroma_across);
  view.shape.chroma_down = static_cast<uint8_t>(planes.chroma_down);
  view.shape.grey = planes.is_grey;
  view.colours = &colours;
  view.plane = planes.plane;
  view.stride_bytes = planes.stride_bytes;
  return view;
}

}  // namespace spdld::video
