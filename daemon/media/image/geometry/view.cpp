#include "daemon/media/image/geometry/view.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace spdld::image {

View::Kept& View::keep(const std::string& output) {
  if (kept.size() == kept_count) kept.emplace_back();
  Kept& record = kept[kept_count++];
  record.output = output;
  record.listed = 0;
  record.places.clear();
  return record;
}

const View::Kept* View::find_kept(const std::string& output) const {
  for (size_t i = 0; i < kept_count; ++i)
    if (kept[i].output == output) return &kept[i];
  return nullptr;
}

bool View::drops(const std::string& output, uint64_t place) const {
  return place < is_dropped.size() && is_dropped[place] && asked.output == output;
}

namespace {

View& view_of(const media::Call& call) {
  auto& views = call.workspace.of<Views>().by_number;
  if (views.size() <= *call.view) views.resize(*call.view + 1);
  return views[*call.view];
}

}  // namespace

void list_boxes(const media::Call& call, const std::string& output, const BoxReading& reading,
                std::span<const float> numbers) {
  View::Asked& asked = view_of(call).asked;
  asked.sample = call.sample;
  asked.output = output;
  asked.reading = reading;
  asked.numbers.assign(numbers.begin(), numbers.end());
}

Status take_boxes(const media::Call& call, const Size& picture, Geometry& geometry) {
  auto& boxes = geometry.boxes.listed;
  boxes.clear();
  if (!call.view) return Done{};
  const View::Asked& asked = view_of(call).asked;
  if (asked.sample != call.sample)
    return Error{Trouble::kInternal, "the boxes of sample " + std::to_string(call.sample) + " were not read"};
  for (size_t i = 0; 4 * i < asked.numbers.size(); ++i) {
    const Result<Corners> box = asked.reading.read(&asked.numbers[4 * i], i, picture);
    if (!box) return media::of_output(asked.output, box.error());
    boxes.push_back(*box);
  }
  return Done{};
}

void lead(const media::Call& call, const Size& picture, const Geometry& geometry) {
  View& view = view_of(call);
  view.sample = call.sample;
  view.picture = picture;
  view.passes = geometry.passes;
  view.moves.clear();
  std::copy_if(geometry.adjustments.begin(), geometry.adjustments.end(), std::back_inserter(view.moves),
               [](const Adjustment& adjustment) { return adjustment.moves(); });
  view.is_dropped = geometry.boxes.is_dropped;
  view.kept_count = 0;
}

View* followed(const media::Call& call) {
  auto& views = call.workspace.of<Views>().by_number;
  if (!call.view || views.size() <= *call.view || views[*call.view].sample != call.sample) return nullptr;
  return &views[*call.view];
}

namespace {

// One side of a pass: columns or rows.
struct Side {
  int start, length;     // of the box
  int size;              // of the resampled box
  int window, shown;     // of the window: its start and its length
  bool mirrored, first;  // the side is mirrored; the mirror stands before the resize
  bool resamples() const { return length != size; }
};

Side side_of(const Pass& pass, bool across) {
  if (!across)
    return {pass.box.y,         pass.box.height, pass.size.height,   pass.window.y,
            pass.window.height, pass.flipped,    pass.flipped_before};
  return {pass.box.x,        pass.box.width, pass.size.width,     pass.window.x,
          pass.window.width, pass.mirrored,  pass.mirrored_before};
}

// Of `size` pixels that are made of `length`.
int nearest_of(int i, int length, int size) {
  const float scale = static_cast<float>(length) / static_cast<float>(size);
  return std::min(static_cast<int>(std::floor(static_cast<float>(i) * scale)), length - 1);
}

// The place in the pass's source of its place i.
int32_t source_of(const Side& side, int i) {
  const int at = side.window + (side.mirrored ? side.shown - 1 - i : i);
  if (at < 0 || at >= side.size) return kOutside;
  if (!side.resamples()) return side.start + at;
  const int within = side.first ? side.length - 1 - nearest_of(side.size - 1 - at, side.length, side.size)
                                : nearest_of(at, side.length, side.size);
  return side.start + within;
}

float scale_of(const Side& side) { return static_cast<float>(static_cast<double>(side.size) / side.length); }

// Moves a coordinate through one side of a pass. Boxes are clamped at each cut, and points are not.
float moved(const Side& side, float at, bool clamps) {
  at -= static_cast<float>(side.start);
  if (clamps) at = std::clamp(at, 0.0F, static_cast<float>(side.length));
  if (side.resamples()) at *= scale_of(side);
  at -= static_cast<float>(side.window);
  if (clamps) at = std::clamp(at, 0.0F, static_cast<float>(side.shown));
  return side.mirrored ? static_cast<float>(side.shown) - at : at;
}

bool is_within(float at, int length) { return at >= 0 && at < static_cast<float>(length); }

// A mirrored pixel's left edge becomes its right edge, so that the border which belongs to a side changes too.
bool stays_inside(const Side& side, float before) {
  const float within = before - static_cast<float>(side.start);
  const float at = (side.resamples() ? within * scale_of(side) : within) - static_cast<float>(side.window);
  return is_within(within, side.length) && is_within(at, side.shown);
}

void move_pair(const Side& side, float& low, float& high) {
  low = moved(side, low, true);
  high = moved(side, high, true);
  if (side.mirrored) std::swap(low, high);
}

}  // namespace

void nearest(std::span<const Pass> passes, bool across, std::vector<int32_t>& sources) {
  const Size end = shown(passes.back());
  sources.resize(static_cast<size_t>(across ? end.width : end.height));
  for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<int32_t>(i);
  for (size_t pass = passes.size(); pass-- > 0;) {
    const Side side = side_of(passes[pass], across);
    for (int32_t& source : sources)
      if (source != kOutside) source = source_of(side, source);
  }
}

Corners seen(std::span<const Pass> passes, Corners box) {
  for (const Pass& pass : passes) {
    move_pair(side_of(pass, true), box.x1, box.x2);
    move_pair(side_of(pass, false), box.y1, box.y2);
  }
  return box;
}

SeenPoint seen(std::span<const Pass> passes, float x, float y) {
  SeenPoint point{x, y, true};
  for (const Pass& pass : passes) {
    const Side across = side_of(pass, true), down = side_of(pass, false);
    point.is_inside = point.is_inside && stays_inside(across, point.x) && stays_inside(down, point.y);
    point.x = moved(across, point.x, false);
    point.y = moved(down, point.y, false);
  }
  return point;
}

// --- through warps ---

namespace {

// Calls use(passes, warp) for each stretch of the passes and the warp behind it: null behind the last one.
template <typename Use>
void each_stretch(std::span<const Pass> passes, std::span<const Adjustment> adjustments, Use use) {
  size_t first = 0;
  for (const Adjustment& move : adjustments) {
    if (!move.moves()) continue;
    use(passes.subspan(first, move.pass + 1 - first), &move.warp);
    first = move.pass + 1;
  }
  use(passes.subspan(first), nullptr);
}

void take(const std::vector<int32_t>& sources, std::span<int32_t> places) {
  for (int32_t& place : places)
    if (place != kOutside) place = sources[static_cast<size_t>(place)];
}

}  // namespace

void nearest(View& view, NearestMap& map) {
  map.stretches.resize(view.moves.size());
  size_t at = 0;
  each_stretch(view.passes, view.moves, [&](std::span<const Pass> passes, const Warp* warp) {
    const bool is_last = warp == nullptr;
    nearest(passes, true, is_last ? map.columns : map.stretches[at].columns);
    nearest(passes, false, is_last ? map.lines : map.stretches[at++].lines);
  });
  map.is_warped = !view.moves.empty();
  map.pixels.clear();
  if (!map.is_warped) return;
  for (const int32_t line : map.lines) {
    map.xs = map.columns;
    map.ys.assign(map.xs.size(), line);
    for (size_t i = 0; i < map.xs.size(); ++i)  // both numbers say that there is no pixel
      if (line == kOutside || map.xs[i] == kOutside) map.xs[i] = map.ys[i] = kOutside;
    for (size_t move = view.moves.size(); move-- > 0;) {
      view.warper.nearest(view.moves[move].warp, map.xs, map.ys);
      take(map.stretches[move].columns, map.xs);
      take(map.stretches[move].lines, map.ys);
      for (size_t i = 0; i < map.xs.size(); ++i)
        if (map.xs[i] == kOutside || map.ys[i] == kOutside) map.xs[i] = map.ys[i] = kOutside;
    }
    for (size_t i = 0; i < map.xs.size(); ++i)
      map.pixels.push_back(map.xs[i] == kOutside ? kOutside : map.ys[i] * view.picture.width + map.xs[i]);
  }
}

Corners seen(std::span<const Pass> passes, std::span<const Adjustment> adjustments, Warper& warper,
             const Corners& box) {
  Corners at = box;
  each_stretch(passes, adjustments, [&](std::span<const Pass> stretch, const Warp* warp) {
    at = seen(stretch, at);
    if (warp == nullptr) return;
    const Place places[] = {{at.x1, at.y1}, {at.x2, at.y1}, {at.x2, at.y2}, {at.x1, at.y2}};
    const Place first = warper.ahead(*warp, places[0]);
    Place least = first, most = first;
    for (const Place& place : std::span(places).subspan(1)) {
      const Place moved = warper.ahead(*warp, place);
      least = {std::min(least.x, moved.x), std::min(least.y, moved.y)};
      most = {std::max(most.x, moved.x), std::max(most.y, moved.y)};
    }
    const double width = warp->size.width, height = warp->size.height;
    at = {static_cast<float>(std::clamp(least.x, 0.0, width)), static_cast<float>(std::clamp(least.y, 0.0, height)),
          static_cast<float>(std::clamp(most.x, 0.0, width)), static_cast<float>(std::clamp(most.y, 0.0, height))};
  });
  return at;
}

Corners seen(View& view, const Corners& box) { return seen(view.passes, view.moves, view.warper, box); }

SeenPoint seen(View& view, float x, float y) {
  SeenPoint point{x, y, true};
  each_stretch(view.passes, view.moves, [&](std::span<const Pass> passes, const Warp* warp) {
    const SeenPoint next = seen(passes, point.x, point.y);
    point = {next.x, next.y, point.is_inside && next.is_inside};
    if (warp == nullptr) return;
    const Place moved = view.warper.ahead(*warp, {point.x, point.y});
    point = {static_cast<float>(moved.x), static_cast<float>(moved.y),
             point.is_inside && is_within(static_cast<float>(moved.x), warp->size.width) &&
                 is_within(static_cast<float>(moved.y), warp->size.height)};
  });
  return point;
}

}  // namespace spdld::image
