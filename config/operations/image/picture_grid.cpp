#include "config/operations/image/picture_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "config/parameter.h"

namespace spdld::config {
namespace {

// All grids with so many tiles, those with few tiles first, and of one number of tiles those with few columns.
std::vector<PictureGrid> grids_between(int64_t least, int64_t most) {
  std::vector<PictureGrid> grids;
  for (int64_t tiles = least; tiles <= most; ++tiles)
    for (int64_t columns = 1; columns <= tiles; ++columns)
      if (tiles % columns == 0) grids.push_back({tiles / columns, columns});
  return grids;
}

}  // namespace

std::vector<PictureGrid> grids_in(const std::string& text) {
  std::vector<PictureGrid> grids;
  for (const std::string& name : names_in(text)) {
    const std::optional<PictureSize> sides = size_in(name);
    if (!sides || sides->height > kGridTilesMax || sides->width > kGridTilesMax) return {};
    const PictureGrid grid{sides->height, sides->width};
    if (grid.tiles() > kGridTilesMax) return {};
    grids.push_back(grid);
  }
  if (grids.size() > kGridsMax) return {};
  return grids;
}

GridRule::GridRule(const OperationSpec& grid)
    : tile_(picture_size(grid)),
      grids_(grids_in(grid.text("grids"))),
      keeps_proportions_(grid.text("rule") == "resolution"),
      has_thumbnail_(grid.text("thumbnail") != "none") {
  if (!grids_.empty()) return;
  const std::pair counts(grid.integer("tiles_min"), grid.integer("tiles_max"));
  const auto [least, most] =
      std::minmax(counts.first, counts.second);  // the wrong way round in a spec with a complaint
  grids_ = grids_between(least, most);
}

PictureSize GridRule::size_within(const PictureGrid& grid, const PictureSize& picture) const {
  const PictureSize size = size_of(grid);
  if (!keeps_proportions_) return size;
  const double across = static_cast<double>(size.width) / static_cast<double>(picture.width);
  const double down = static_cast<double>(size.height) / static_cast<double>(picture.height);
  const auto rounded_up = [](int64_t side, double scale, int64_t most) {
    return std::min(static_cast<int64_t>(std::ceil(static_cast<double>(side) * scale)), most);
  };
  if (across < down) return {rounded_up(picture.height, across, size.height), size.width};
  return {size.height, rounded_up(picture.width, down, size.width)};
}

PictureGrid GridRule::choose(const PictureSize& picture) const {
  return keeps_proportions_ ? most_resolution(picture) : closest_proportions(picture);
}

// InternVL's find_closest_aspect_ratio. Of two grids that are equally close, the one with more tiles is taken where the
// picture has more than half of their pixels.
PictureGrid GridRule::closest_proportions(const PictureSize& picture) const {
  const double ratio = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  const auto area = static_cast<double>(picture.width * picture.height);
  double least = std::numeric_limits<double>::infinity();
  PictureGrid best = grids_.front();
  for (const PictureGrid& grid : grids_) {
    const PictureSize size = size_of(grid);
    const double apart = std::abs(ratio - static_cast<double>(size.width) / static_cast<double>(size.height));
    const bool is_tied = apart == least && area > 0.5 * static_cast<double>(size.width * size.height);
    if (apart < least || is_tied) best = grid;
    least = std::min(least, apart);
  }
  return best;
}

// LLaVA-NeXT's select_best_resolution: the grid that keeps most of the picture's pixels, and of such grids the one with
// the fewest pixels beside them.
PictureGrid GridRule::most_resolution(const PictureSize& picture) const {
  int64_t most = 0, least_wasted = std::numeric_limits<int64_t>::max();
  PictureGrid best = grids_.front();
  for (const PictureGrid& grid : grids_) {
    const PictureSize size = size_of(grid);
    const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
    const double scale = std::min(static_cast<double>(size.width) / width, static_cast<double>(size.height) / height);
    const auto within = static_cast<int64_t>(width * scale) * static_cast<int64_t>(height * scale);
    const int64_t kept = std::min(within, picture.width * picture.height);
    const int64_t wasted = size.width * size.height - kept;
    if (kept < most || (kept == most && wasted >= least_wasted)) continue;
    most = kept;
    least_wasted = wasted;
    best = grid;
  }
  return best;
}

}  // namespace spdld::config
