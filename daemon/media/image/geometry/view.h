// The geometry that the outputs of a view share: the picture of one output, the leader, decides it, and the other
// outputs, its followers, apply it to a mask, to boxes and to points of the same sample. All coordinates are pixels of
// the leader's picture as its geometry sees it (upright, where decode-image turns it), counted from the upper left
// corner of the upper left pixel: x to the right, y down. Pure functions and plain values; any thread, each with Views
// of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/result.h"
#include "daemon/media/image/adjustments/warper.h"
#include "daemon/media/image/geometry/box_list.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/node.h"

namespace spdld::image {

// Of one sample: valid from the leader's run to the end of the sample's run.
struct View {
  // The elements of a list that an output of the view has kept, by their places in the list.
  struct Kept {
    std::string output;
    uint64_t listed = 0;  // elements of the whole list
    std::vector<uint32_t> places;
  };

  // A list whose boxes decide the geometry, as it was read before the leader ran.
  struct Asked {
    uint64_t sample = std::numeric_limits<uint64_t>::max();  // its id
    std::string output;
    BoxReading reading;
    std::vector<float> numbers;  // four for each box
  };

  uint64_t sample = std::numeric_limits<uint64_t>::max();  // its id
  Size picture;                                            // of the leader, before any pass
  std::vector<Pass> passes;                                // of the leader
  std::vector<Adjustment> moves;                           // its warps, in order: each is the last one of its pass
  std::vector<Kept> kept;  // the first `kept_count` belong to this sample; memory is reused
  size_t kept_count = 0;
  Warper warper;  // for the view's followers
  Asked asked;
  std::vector<bool> is_dropped;  // by the geometry, for each box of the list that decides it

  Size end() const { return shown(passes.back()); }
  // An empty record for the rows that `output` keeps.
  Kept& keep(const std::string& output);
  const Kept* find_kept(const std::string& output) const;  // null: there is none yet
  // Whether the geometry has dropped row `place` of the list that `output` is made of.
  bool drops(const std::string& output, uint64_t place) const;
};

// A decode thread's views, by their number in the plan.
struct Views {
  explicit Views(const media::DecodeLimits&) {}
  void shrink(size_t) {}
  std::vector<View> by_number;
};

// The boxes of this output decide the geometry of call.view for this sample. Precondition: the output has a view, and
// `numbers` has four numbers for each box.
void list_boxes(const media::Call& call, const std::string& output, const BoxReading& reading,
                std::span<const float> numbers);
// Takes these boxes into the geometry of a picture of this size. Without a view there are none. kContent: one of them
// is no box.
Status take_boxes(const media::Call& call, const Size& picture, Geometry& geometry);
// Begins the view of call.view for this sample. Precondition: the output has a view.
void lead(const media::Call& call, const Size& picture, const Geometry& geometry);
// The view that the sample's leader has left; null: it has left none.
View* followed(const media::Call& call);

// --- nearest ---

inline constexpr int32_t kOutside = -1;

// The columns (`across`) or rows of the picture from which nearest resampling takes the columns or rows of what the
// last pass shows; kOutside where the passes leave black. Each pass that resamples takes of `in` source pixels for its
// pixel i the pixel floor(i * (in / out)) in float32, as torch's interpolate(mode="nearest") does: torchvision v2
// resizes masks with it.
void nearest(std::span<const Pass> passes, bool across, std::vector<int32_t>& sources);

// Where nearest takes the pixels of what a view shows: kOutside where the view leaves black.
struct NearestMap {
  std::vector<int32_t> columns, lines;  // without warps: for each column and line, the picture's
  std::vector<int32_t> pixels;          // with warps: for each pixel, row by row, the number of one of the picture
  bool is_warped = false;

  // For nearest(): of the passes between two warps.
  struct Stretch {
    std::vector<int32_t> columns, lines;
  };
  std::vector<Stretch> stretches = {};
  std::vector<int32_t> xs = {}, ys = {};  // of a row
};
void nearest(View& view, NearestMap& map);

// --- boxes and points ---

// The part of a box of the picture that the passes leave, in the pixels of what the last pass shows. The arithmetic is
// that of torchvision v2's kernels for bounding boxes, in float32: each crop moves and clamps, each resize multiplies
// by new / old, each flip subtracts from the width.
Corners seen(std::span<const Pass> passes, Corners box);

struct SeenPoint {
  float x, y;
  bool is_inside;  // of everything that the passes show on the way
};
SeenPoint seen(std::span<const Pass> passes, float x, float y);
// Where the view's passes and warps show a box. A box that a warp has turned is the smallest upright one around it, cut
// off at the picture's sides, as torchvision v2 has it.
Corners seen(View& view, const Corners& box);
Corners seen(std::span<const Pass> passes, std::span<const Adjustment> adjustments, Warper& warper, const Corners& box);
SeenPoint seen(View& view, float x, float y);

}  // namespace spdld::image
