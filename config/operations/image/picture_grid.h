// The grids of tiles that `grid` cuts pictures into, and the rules that choose one of them for a picture. Constant
// after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/picture_size.h"
#include "config/spec.h"

namespace spdld::config {

struct PictureGrid {
  int64_t rows = 1, columns = 1;
  int64_t tiles() const { return rows * columns; }
  friend bool operator==(const PictureGrid&, const PictureGrid&) = default;
};

inline constexpr int64_t kGridTilesMax = 64;
inline constexpr size_t kGridsMax = 256;  // that a text may name

// The grids that a text such as "1x2,2x1" names, rows before columns; none: it names something else, more than
// kGridsMax grids, or a grid with more than kGridTilesMax tiles.
std::vector<PictureGrid> grids_in(const std::string& text);

class GridRule {
 public:
  explicit GridRule(const OperationSpec& grid);

  const std::vector<PictureGrid>& grids() const { return grids_; }  // at least one, in the order of the rule
  const PictureSize& tile() const { return tile_; }
  // The picture keeps its proportions, and a border fills the rest of the grid; else it is stretched to the grid.
  bool keeps_proportions() const { return keeps_proportions_; }
  // Whether the whole picture comes as one more piece. A grid of one tile that is stretched is the whole picture.
  bool has_thumbnail(const PictureGrid& grid) const {
    return has_thumbnail_ && (keeps_proportions_ || grid.tiles() > 1);
  }
  int64_t pieces(const PictureGrid& grid) const { return grid.tiles() + (has_thumbnail(grid) ? 1 : 0); }
  // The size of all tiles together.
  PictureSize size_of(const PictureGrid& grid) const { return {grid.rows * tile_.height, grid.columns * tile_.width}; }
  // The size of the picture within the grid. Neither side is less than 1.
  PictureSize size_within(const PictureGrid& grid, const PictureSize& picture) const;

  PictureGrid choose(const PictureSize& picture) const;

 private:
  PictureGrid closest_proportions(const PictureSize& picture) const;
  PictureGrid most_resolution(const PictureSize& picture) const;

  PictureSize tile_;
  std::vector<PictureGrid> grids_;
  bool keeps_proportions_, has_thumbnail_;
};

}  // namespace spdld::config
