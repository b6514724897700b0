#include "daemon/media/image/geometry/geometry.h"

#include <algorithm>
#include <cmath>

#include "config/operation.h"
#include "config/picture_pixels.h"
#include "config/picture_size.h"
#include "daemon/media/image/codecs/jpeg_round_trip.h"
#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::image {
namespace {

// A pass that only cuts and mirrors its source can be replaced by one that resamples the source itself.
bool only_cuts(const Pass& pass) { return !pass.adjusted && !resamples(pass) && inside_of(pass) == pass.window; }

bool cuts(const Pass& pass) { return inside_of(pass) != Box{0, 0, pass.size.width, pass.size.height}; }

bool is_turned(const Pass& pass) { return pass.mirrored || pass.flipped; }

Box decoded_part(const Pass& pass) {
  const SourceRange across = source_range(across_of(pass)), down = source_range(down_of(pass));
  return {pass.box.x + across.first, pass.box.y + down.first, across.end - across.first, down.end - down.first};
}

Box decoded_part(const Geometry& geometry) {
  if (!has_pieces_of_source(geometry)) return decoded_part(geometry.passes.front());
  std::optional<Box> all;
  for (const Pass& piece : geometry.pieces) {
    if (is_black(piece)) continue;
    const Box part = decoded_part(piece);
    all = all ? union_of(*all, part) : part;
  }
  return *all;
}

// The stored samples nearest to a part of a side that is shown as `is_shown` pixels.
SourceRange samples_of(int first, int length, int is_shown, int stored) {
  const auto nearest = [&](int edge) {
    return static_cast<int>((2 * int64_t{edge} * stored + is_shown) / (2 * int64_t{is_shown}));
  };
  const int begin = std::clamp(nearest(first), 0, stored - 1);
  return {begin, std::clamp(nearest(first + length), begin + 1, stored)};
}

// Whether a pass shows pixels of its source where they are, in any part of its whole source.
bool may_be_cut_later(const Pass& pass, const Size& source) {
  const bool is_whole = pass.box == Box{0, 0, source.width, source.height};
  return !resamples(pass) && (is_whole || inside_of(pass) == pass.window);
}

// Whether a picture may become a JPEG; where it may not, the geometry keeps the size, for the error.
bool fits_jpeg(const Size& size, Geometry& geometry) {
  const bool fits = std::max(size.width, size.height) <= kJpegSideMax;
  if (!fits) geometry.beyond_jpeg = size;
  return fits;
}

}  // namespace

Size size_of(const config::OperationSpec& op) {
  const config::PictureSize size = config::picture_size(op);
  return {static_cast<int>(size.width), static_cast<int>(size.height)};
}

Resampling resampling_of(const config::OperationSpec& op) {
  return {filter_named(config::filter_of(op)), op.flag("antialias")};
}

std::string_view name_of(const config::OperationSpec& op) { return config::find_operation(op.op)->name; }

uint64_t draw_of(const config::OperationSpec& op) {
  const std::string& name = op.text("draw");
  return draw_key(name.empty() ? op.op : name);
}

// Ties to even is the floating-point environment's default.
int round_even(double value) { return static_cast<int>(std::nearbyint(value)); }

bool is_allowed(const Size& size, Geometry& geometry) {
  const bool is_small = int64_t{size.width} * size.height <= kPixelsMax;
  if (!is_small) geometry.too_large = size;
  return is_small;
}

Pass untouched(const Size& size) {
  const Box whole{0, 0, size.width, size.height};
  return {.box = whole, .size = size, .window = whole};
}

void adjust(const Adjustment& adjustment, Geometry& geometry) {
  if (adjustment.moves() && !is_allowed(adjustment.warp.size, geometry)) return;
  const bool is_jpeg = adjustment.type == AdjustmentType::kJpeg;
  const Size now = shown(geometry.passes.back());
  if (is_jpeg && !fits_jpeg(now, geometry)) return;
  geometry.adjustments.push_back(adjustment);
  geometry.adjustments.back().pass = geometry.passes.size() - 1;
  geometry.passes.back().adjusted = true;
  if (adjustment.moves()) geometry.passes.push_back(untouched(adjustment.warp.size));
  if (is_jpeg) geometry.passes.push_back(untouched(now));
}

size_t begin_mix(double amount, Geometry& geometry) {
  adjust({.type = AdjustmentType::kMix, .amount = amount}, geometry);
  geometry.passes.push_back(untouched(shown(geometry.passes.back())));
  return geometry.adjustments.size() - 1;
}

Size shown(const Pass& pass) { return {pass.window.width, pass.window.height}; }

Box in_source(const Pass& pass, const Box& box) {
  const int x = pass.mirrored ? pass.window.width - box.x - box.width : box.x;
  const int y = pass.flipped ? pass.window.height - box.y - box.height : box.y;
  return {pass.box.x + pass.window.x + x, pass.box.y + pass.window.y + y, box.width, box.height};
}

void crop_box(const Box& box, std::vector<Pass>& passes) {
  const Size now = shown(passes.back());
  if (passes.back().adjusted) passes.push_back(untouched(now));
  const bool adds_border = box.x < 0 || box.y < 0 || box.x + box.width > now.width || box.y + box.height > now.height;
  // A border that is added now is black, also where an operation before has cut the picture.
  if (adds_border && cuts(passes.back())) passes.push_back(untouched(now));
  Pass& pass = passes.back();
  const int x = pass.mirrored ? now.width - box.x - box.width : box.x;
  const int y = pass.flipped ? now.height - box.y - box.height : box.y;
  pass.window = {pass.window.x + x, pass.window.y + y, box.width, box.height};
}

Filter filter_of(const Resampling& how, const Geometry& geometry) {
  const bool is_pillows = geometry.as_pillow && how.antialias && how.filter == Filter::kBilinear;
  return is_pillows ? Filter::kTriangle : how.filter;
}

void resize_box(const Box& box, const Size& size, const Resampling& how, Geometry& geometry) {
  std::vector<Pass>& passes = geometry.passes;
  Pass& last = passes.back();
  const Box whole{0, 0, size.width, size.height};
  const Filter filter = filter_of(how, geometry);
  // The other filters have ties, which fall to the same side before and behind a mirror.
  if (only_cuts(last) && (filter == Filter::kBilinear || !is_turned(last))) {
    last = {.box = in_source(last, box),
            .size = size,
            .window = whole,
            .mirrored = last.mirrored,
            .antialias = how.antialias,
            .mirrored_before = last.mirrored,
            .filter = filter,
            .flipped = last.flipped,
            .flipped_before = last.flipped};
  } else {
    Box source = box;
    if (only_cuts(last)) {
      crop_box(box, passes);
      source.x = source.y = 0;
    }
    passes.push_back({.box = source, .size = size, .window = whole, .antialias = how.antialias, .filter = filter});
  }
}

bool resamples(const Pass& pass) { return Size{pass.box.width, pass.box.height} != pass.size; }

bool is_untouched(const Pass& pass) {
  const Box whole{0, 0, pass.size.width, pass.size.height};
  return pass.box == whole && pass.window == whole && !is_turned(pass);
}

bool is_bilinear(const Pass& pass) { return pass.filter == Filter::kBilinear || !resamples(pass); }

bool has_pieces_of_source(const Geometry& geometry) {
  const Pass& first = geometry.passes.front();
  return !geometry.pieces.empty() && geometry.passes.size() == 1 && is_untouched(first) && !first.adjusted;
}

// The triangle filter must be left a good part of the shrinking. Measured on 6,000 crops of sharp photos: with 1.6 on
// both axes about 50 dB beside the plain way on average, 40 of all but one in 150; with 1 left, 43, and 33 at worst.
int reduction_of(const Pass& pass) {
  constexpr int64_t kLeft = 8, kLeftOf = 5;
  if (!pass.antialias || pass.filter != Filter::kBilinear) return 1;
  int reduction = 1;
  const auto fits = [](int side, int wanted, int by) { return kLeftOf * side >= kLeft * by * wanted; };
  while (reduction < 8 && fits(pass.box.width, pass.size.width, 2 * reduction) &&
         fits(pass.box.height, pass.size.height, 2 * reduction)) {
    reduction *= 2;
  }
  return reduction;
}

int reduction_of(const Geometry& geometry) {
  if (!has_pieces_of_source(geometry)) return reduction_of(geometry.passes.front());
  int reduction = 8;
  for (const Pass& piece : geometry.pieces) reduction = std::min(reduction, reduction_of(piece));
  return reduction;
}

bool is_black(const Pass& pass) {
  const Box inside = inside_of(pass);
  return inside.width <= 0 || inside.height <= 0;
}

Box inside_of(const Pass& pass) {
  const int left = std::max(pass.window.x, 0), top = std::max(pass.window.y, 0);
  const int right = std::min(pass.window.x + pass.window.width, pass.size.width);
  const int bottom = std::min(pass.window.y + pass.window.height, pass.size.height);
  return {left, top, right - left, bottom - top};
}

AxisRequest across_of(const Pass& pass, int reduction) {
  const Box inside = inside_of(pass);
  return {pass.box.width, pass.size.width,        inside.x,   inside.width, pass.mirrored, pass.antialias,
          reduction,      pass.box.x % reduction, pass.filter};
}

AxisRequest down_of(const Pass& pass, int reduction) {
  const Box inside = inside_of(pass);
  return {pass.box.height, pass.size.height,       inside.y,   inside.height, false, pass.antialias,
          reduction,       pass.box.y % reduction, pass.filter};
}

void resolve(const GeometrySteps& steps, const Size& picture, const Draws& draws, Geometry& geometry) {
  geometry.passes.clear();
  geometry.adjustments.clear();
  geometry.too_large.reset();
  geometry.too_small.reset();
  geometry.pieces.clear();
  geometry.placed.clear();
  geometry.beyond_jpeg.reset();
  geometry.passes.push_back(untouched(picture));
  geometry.drawn = {0, 0, picture.width, picture.height};
  geometry.reduction = 1;
  geometry.boxes.is_dropped.assign(geometry.boxes.listed.size(), false);
  geometry.has_its_part = true;
  for (const auto& step : steps) step->apply(draws, geometry);
  geometry.decoded = decoded_part(geometry);
}

void take_stored(const Size& is_shown, const Size& stored, Geometry& geometry) {
  Pass& first = geometry.passes.front();
  if (may_be_cut_later(first, is_shown)) {
    first.window.x += first.box.x;
    first.window.y += first.box.y;
    first.box = {0, 0, stored.width, stored.height};
    first.size = is_shown;
    first.antialias = true;
    first.filter = Filter::kBilinear;
  } else {
    const SourceRange across = samples_of(first.box.x, first.box.width, is_shown.width, stored.width);
    const SourceRange down = samples_of(first.box.y, first.box.height, is_shown.height, stored.height);
    first.box = {across.first, down.first, across.end - across.first, down.end - down.first};
  }
  geometry.decoded = decoded_part(geometry);
}

}  // namespace spdld::image
