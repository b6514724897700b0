// Maps of a whole picture: each wanted pixel comes from a place in the source. Affine and perspective maps, random
// displacements, and borders, as torchvision v2 computes them for uint8 tensors (transforms/v2/functional/_geometry.py
// and torch's grid_sample with align_corners=False). Places are computed in float32 in torch's order, so that nearest
// pixels are the same but for rare ties; bilinear ones are within 1. kPillow has values of its own: see pillow_warp.h.
// Plain values and pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/base/picture.h"
#include "daemon/media/image/adjustments/border.h"
#include "daemon/media/image/kernels/filter.h"

namespace spdld::image {

struct Place {
  double x = 0, y = 0;  // pixels from the upper left corner of the upper left pixel
};

enum class WarpKind : uint8_t { kAffine, kPerspective, kElastic, kBorder, kPillow };

struct Warp {
  WarpKind kind = WarpKind::kAffine;
  Size source, size;                 // of the result
  Filter filter = Filter::kNearest;  // or kBilinear; a border takes none, and kPillow kBilinear or kBicubic
  std::array<uint8_t, 3> fill = {};  // of each channel, where the source has no pixel
  std::array<double, 8> back = {};   // kAffine: rows (x, y, 1) from the centre; kPillow: the same from the corner;
                                     // kPerspective: a to h, from there
  uint64_t seed = 0;                 // kElastic, of the displacements
  std::array<double, 2> alpha = {};  // kElastic: strength, across and down
  std::array<double, 2> sigma = {};  // kElastic: of the blur, across and down; 0: none
  Border border = {};                // kBorder
  BorderKind border_kind = BorderKind::kConstant;

  friend bool operator==(const Warp&, const Warp&) = default;
};

// The numbers of torchvision's functional.affine.
struct Affine {
  double angle_degrees = 0;  // clockwise
  double translate_x = 0, translate_y = 0;
  double scale = 1;
  double shear_x_degrees = 0, shear_y_degrees = 0;
  std::optional<Place> centre = {};  // none: the picture's
};
Warp affine_warp(const Size& source, const Affine& affine);
// As functional.rotate: counter-clockwise. `expands`: the result is as large as the turned picture needs.
Warp rotate_warp(const Size& source, double degrees, const std::optional<Place>& centre, bool expands);
// Moves the picture's places `from` to `to`, as functional.perspective does. No three places may lie on a line.
Warp perspective_warp(const Size& source, const std::array<Place, 4>& from, const std::array<Place, 4>& to);
// Displacements of ElasticTransform: uniform ones, blurred with a Gaussian of `sigma` pixels, times `alpha`; both
// across and down. Precondition: sigma >= 0.
Warp elastic_warp(const Size& source, uint64_t seed, const std::array<double, 2>& alpha,
                  const std::array<double, 2>& sigma);
Warp border_warp(const Size& source, const Border& border, BorderKind kind);

}  // namespace spdld::image
