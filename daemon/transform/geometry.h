// The effect of a chain's operations on a sample's geometry: torchvision's definitions of resize, center-crop,
// random-resized-crop and horizontal-flip, as passes of resampling. Constant after construction; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/random.h"
#include "daemon/transform/image_program.h"

namespace spdld::transform {

class GeometryPlan {
 public:
  // `ops` are the operations between decode-image and normalize or convert. Throws SetupError where the result's size
  // would differ from sample to sample, or where a box is asked for that has no place in the picture.
  GeometryPlan(std::span<const config::OperationSpec> ops, const std::string& output_name);

  void resolve(const Size& picture, const Draws& draws, Geometry& geometry) const;

  const Size& size() const { return size_; }  // of every result
  const std::string& box_name() const { return box_name_; }

 private:
  enum class Kind : uint8_t { kResize, kResizeShorter, kCenterCrop, kRandomResizedCrop, kFlip };
  struct Step {
    Kind kind;
    Size size;  // kResizeShorter: both are the shorter side
    bool antialias = true;
    double scale[2] = {};    // of the area
    double ratio[2] = {};    // width / height
    double probability = 0;  // of a flip
    uint64_t draw = 0;       // key
  };

  Step read(const config::OperationSpec& op);
  static Box draw_box(const Step& step, const Size& picture, Draw draw);
  static void apply(const Step& step, const Draws& draws, Geometry& geometry);

  std::vector<Step> steps_;
  Size size_;
  std::string box_name_;
};

// torchvision's size of a picture whose shorter side becomes `shorter`; but no side becomes longer than kSideMax, so
// that a picture one pixel wide does not become a tower of gigabytes.
constexpr int kSideMax = 65'500;  // the longest side a JPEG decoder takes
Size shorter_side_size(const Size& picture, int shorter);

bool resamples(const Pass& pass);
// The most by which the pass's source may be reduced (1, 2, 4 or 8) without being seen.
int reduction_of(const Pass& pass);
// The part of `pass.size` that lies in `pass.window`: the rest of the window is black.
Box inside_of(const Pass& pass);

}  // namespace spdld::transform
