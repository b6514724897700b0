// Turns pixels into sRGB by an ICC profile, with the perceptual intent: the values of Pillow's
// ImageCms.profileToProfile(picture, profile, sRGB). One object a decode thread, which keeps its last transforms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

class SrgbTransforms {
 public:
  virtual ~SrgbTransforms() = default;

  // Readies the transform of pixels of this format, RGB or RGBA, by this profile. Of a profile for grey the first
  // channel is taken, for all three are equal then. Errors: kContent for a damaged profile; kUnsupported for a profile
  // of other colours (`is_grey`: the picture stores grey), and in a build without lcms2.
  virtual Status choose(std::span<const uint8_t> profile, bool is_grey, const PixelFormat& format) = 0;
  // Readies the transform of CIE L*a*b* into sRGB: pixels of three bytes, L* of 0 to 255, a* and b* with 128 added to
  // them; the values of Pillow's convert("RGB"). kUnsupported: this build has no lcms2.
  virtual Status choose_lab() = 0;
  // Turns the pixels that `rows` covers, by the chosen transform. Alpha stays as it is.
  virtual void apply(PixelRows& rows) = 0;
};

std::unique_ptr<SrgbTransforms> make_srgb_transforms();
// The code that decides the values, with its version: "lcms 2.14". Empty: this build has none.
std::string colour_code();

}  // namespace spdld::image
