// The pixels that operations on pictures are asked for: `colours`, `bits`, `profile`, `frame`, `frames` and
// `resampling` of decode-image, and `filter` of operations that resample. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "config/spec.h"

namespace spdld::config {

struct PicturePixels {
  std::string colours = "rgb";  // "rgb", "grey" or "rgba"
  int bits = 8;                 // of a sample, 8 or 16, or 32 of floating-point numbers
  bool srgb = false;            // by the picture's colour profile
  int frame = 0;                // the frame of an animation, or the page of a TIFF, counted from 0
  int frames = 0;               // how many frames or pages are asked for; 0: one picture, the one at `frame`

  int channels() const { return colours == "rgb" ? 3 : colours == "rgba" ? 4 : 1; }
  // Whether the cache can keep such pictures as a JPEG's planes.
  bool has_planes() const { return bits == 8 && channels() != 4 && !srgb && frame == 0 && frames == 0; }
};

inline constexpr int kFramesWantedMax = 1024;
inline constexpr int kFrameMax = 9999;  // the last frame of a picture that can be asked for

// Parameters that have their default need not be there.
PicturePixels picture_pixels(const OperationSpec& spec);

// Whether decode-image has resampling = "pillow".
bool resamples_as_pillow(const OperationSpec& spec);

inline constexpr std::string_view kBilinear = "bilinear";  // the default filter
// The filter's name. A parameter that has its default need not be there.
std::string filter_of(const OperationSpec& spec);

}  // namespace spdld::config
