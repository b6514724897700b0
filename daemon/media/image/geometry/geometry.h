// The effect of a chain's operations on a sample's geometry: torchvision's definitions of resize, crops and flips, as
// passes of resampling. Each operation is a step that changes what the steps before it left. Constant after
// construction; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/random.h"
#include "daemon/base/row_part.h"
#include "daemon/media/image/adjustments/adjustment.h"
#include "daemon/media/image/geometry/box_list.h"
#include "daemon/media/image/kernels/filter.h"
#include "daemon/media/image/kernels/weights.h"

namespace spdld::image {

// `box` of the source is resampled to `size`; its part `window` is kept, then mirrored and flipped or not. A window may
// reach outside of `size`: pixels there are black (a center-crop of a smaller picture).
struct Pass {
  Box box;
  Size size;
  Box window;
  bool mirrored = false;
  bool antialias = true;
  // A mirror stands before the resize, not behind it (with `mirrored` off: before and behind). Interpolated pixels are
  // the same; nearest ones, of masks, are not.
  bool mirrored_before = false;
  Filter filter = Filter::kBilinear;
  bool flipped = false, flipped_before = false;  // top and bottom, as `mirrored` is left and right
  // Adjustments stand behind it: no later step but a mirror or a flip may change it, since pixels outside of its
  // window and the order of resampling and adjusting would then matter. A warp is the last one behind its pass, and so
  // is a JPEG, whose blocks begin at the upper left corner: a mirror behind it is not one before it.
  bool adjusted = false;
};

// How an operation resamples.
struct Resampling {
  Filter filter = Filter::kBilinear;
  bool antialias = true;
};

// A box that goes into this one of Call::tensors.
struct PlacedBox {
  size_t tensor;
  Box box;
};

// The decisions for one sample.
struct Geometry {
  std::vector<Pass> passes;  // at least one
  // Of what the last pass shows, each a picture of one size, which are shown in its place; none: it is shown itself.
  std::vector<Pass> pieces;
  Box decoded;  // the part to decode: the part of passes[0].box that is needed
  // 1, 2, 4 or 8: a picture that has planes may instead be decoded to planes that are this much smaller (decode-image
  // with `fast`). The planes need to cover only `decoded`.
  int reduction = 1;
  bool as_pillow = false;               // see ImageProgram; set before the steps are applied
  uint32_t shape = 0;                   // of the batch, by its number; set before the steps are applied
  RowPart part;                         // of the picture, which the row is; set before the steps are applied
  bool has_its_part = true;             // false: the picture has another size than when its parts were counted
  std::vector<Adjustment> adjustments;  // in order, each behind its pass
  std::optional<Size> too_large;        // of a step that was left out, since its result has more than kPixelsMax pixels
  DecidingBoxes boxes;                  // of the sample; none: no step asks for them
  std::optional<Size> too_small;        // of what the last pass shows, where it has no pieces of the wanted size
  std::optional<Size> beyond_jpeg;      // of a picture that was to be a JPEG, with a side above kJpegSideMax
  Box drawn;                            // box in the picture of a random-resized-crop before any resize; else all of it
  std::vector<PlacedBox> placed;        // where pictures lie inside of their borders
  // Of `grid`: its rows and columns, and height and width of the picture that it cuts.
  std::array<int32_t, 4> grid = {};
};

// One operation between decode-image and the tensor.
class GeometryStep {
 public:
  virtual ~GeometryStep() = default;
  virtual void apply(const Draws& draws, Geometry& geometry) const = 0;
};
using GeometrySteps = std::vector<std::unique_ptr<const GeometryStep>>;

// The geometry of a sample's picture after all steps; reuses `geometry`'s memory.
void resolve(const GeometrySteps& steps, const Size& picture, const Draws& draws, Geometry& geometry);

// Of a picture that is stored as other samples than it is shown as: lets a geometry that was resolved for the size that
// is shown start from the stored samples, by changing its first pass alone. A pass that resamples takes the samples
// nearest to its box. A pass that only cuts resamples the whole picture, and cuts then, so that its pixels lie where
// they are shown. Boxes that were told before stay true of the result.
void take_stored(const Size& is_shown, const Size& stored, Geometry& geometry);

// --- for steps ---

// [height, width] of the operation's `size`; one number stands for both.
Size size_of(const config::OperationSpec& op);
// The operation's `filter` and `antialias`.
Resampling resampling_of(const config::OperationSpec& op);
// The operation's name, as a text that lives for ever.
std::string_view name_of(const config::OperationSpec& op);
// The stream of random numbers that the operation's `draw` names; unnamed ones are the operation's own.
uint64_t draw_of(const config::OperationSpec& op);
// Python's round(): ties to even.
int round_even(double value);
// Whether a picture may become so large; where it may not, the geometry keeps the size, for the error.
bool is_allowed(const Size& size, Geometry& geometry);
// A pass that shows its source, a picture of this size.
Pass untouched(const Size& size);
// Adds the adjustment behind what the last pass shows. A warp or a JPEG starts a pass of its result.
void adjust(const Adjustment& adjustment, Geometry& geometry);
// Adds a kMix, which starts a pass of its result; returns its place among the adjustments. The caller adds the
// adjustments that it holds, and says how many they are.
size_t begin_mix(double amount, Geometry& geometry);
// The size of what the pass shows.
Size shown(const Pass& pass);
// `box` of what the pass shows, in the pass's source. Precondition: the pass only cuts and mirrors.
Box in_source(const Pass& pass, const Box& box);
// Cuts `box` out of what the last pass shows; what lies outside of that is black.
void crop_box(const Box& box, std::vector<Pass>& passes);
// Resamples `box` of what the last pass shows.
void resize_box(const Box& box, const Size& size, const Resampling& how, Geometry& geometry);
// The filter of a pass that resamples so. An antialiased triangle is another one where pictures are resampled as Pillow
// does it.
Filter filter_of(const Resampling& how, const Geometry& geometry);

// --- for readers of a geometry ---

bool resamples(const Pass& pass);
// The pass shows its whole source as it is.
bool is_untouched(const Pass& pass);
// The pass is one for the kernels and weights of the triangle, which take planes as well; other filters take rows.
bool is_bilinear(const Pass& pass);
// The pieces are made of the decoded picture itself: no pass changes it.
bool has_pieces_of_source(const Geometry& geometry);
// The most by which the pass's source may be reduced (1, 2, 4 or 8) without being seen; of a geometry, the decoded
// picture.
int reduction_of(const Pass& pass);
int reduction_of(const Geometry& geometry);
// The part of `pass.size` that lies in `pass.window`, and the rest of the window is black. A side is at most 0 where
// the whole window is black (is_black).
Box inside_of(const Pass& pass);
bool is_black(const Pass& pass);
// The resampling of this part along each axis, of a source that is reduced so. Rows are wanted from the top to the
// bottom, also of a pass that is flipped.
AxisRequest across_of(const Pass& pass, int reduction = 1);
AxisRequest down_of(const Pass& pass, int reduction = 1);

}  // namespace spdld::image
