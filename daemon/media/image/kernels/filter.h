// The filters by which pictures are resampled, and the weights that they give to the source pixels of one axis. The
// triangle ("bilinear") has kernels and weights of its own (weights.h); the weights of all others are computed here,
// in double precision. kTriangle is the triangle with these weights, for pictures that are to be resampled as Pillow
// does it.
//
// Antialiased, they are Pillow's weights (libImaging/Resample.c, precompute_coeffs, with bilinear_filter,
// bicubic_filter, lanczos_filter and box_filter): a filter is as wide as the picture shrinks, and is cut off at the
// box's edges.
// Without antialias only bicubic is left: it has torch's weights (UpSample.h, a = -0.75), which repeats the
// pixels at the box's edges. Nearest takes the pixel that Pillow takes (libImaging/Geometry.c, ImagingScaleAffine). One
// thread an object, reused from sample to sample.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spdld::image {

struct AxisRequest;
struct SourceRange;

enum class Filter : uint8_t { kBilinear, kNearest, kBicubic, kLanczos, kBox, kTriangle };
Filter filter_named(std::string_view name);  // "bilinear", "nearest", "bicubic", "lanczos", "box"

// The weights of one wanted pixel.
class PixelWeights {
 public:
  // Of pixel i of request.out. Precondition: the filter is kBicubic, or an antialiased kLanczos, kBox or kTriangle; the
  // reduction is 1.
  void make(const AxisRequest& request, int i);

  int first() const { return first_; }                          // source pixel of the box
  std::span<const double> weights() const { return weights_; }  // sum up to 1; may be negative

 private:
  void make_antialiased(const AxisRequest& request, int i);
  void make_cubic(const AxisRequest& request, int i);

  int first_ = 0;
  std::vector<double> weights_;
};

// The source pixel of each wanted pixel of a kNearest, in the order of the request.
void nearest_pixels(const AxisRequest& request, std::vector<int>& pixels);

// As source_range() of weights.h, of any filter but kBilinear.
SourceRange filter_range(const AxisRequest& request);

}  // namespace spdld::image
