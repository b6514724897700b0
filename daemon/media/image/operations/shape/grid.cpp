#include "config/operations/image/picture_grid.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

Size to_size(const config::PictureSize& size) { return {static_cast<int>(size.width), static_cast<int>(size.height)}; }

class Grid final : public GeometryStep {
 public:
  explicit Grid(const config::OperationSpec& op)
      : rule_(op), how_(resampling_of(op)), begins_with_thumbnail_(op.text("thumbnail") == "first") {}

  void apply(const Draws&, Geometry& geometry) const override {
    const Size now = shown(geometry.passes.back());
    const config::PictureSize picture{now.height, now.width};
    const config::PictureGrid grid = rule_.choose(picture);
    const bool has_thumbnail = rule_.has_thumbnail(grid);
    if (has_thumbnail && begins_with_thumbnail_) add_thumbnail(now, geometry);
    add_tiles(grid, now, geometry);
    if (has_thumbnail && !begins_with_thumbnail_) add_thumbnail(now, geometry);
    geometry.grid = {static_cast<int32_t>(grid.rows), static_cast<int32_t>(grid.columns), now.height, now.width};
  }

 private:
  // A part of the picture, resized to `size`.
  Pass piece_of(const Size& picture, const Size& size, const Box& window, const Geometry& geometry) const {
    return {.box = {0, 0, picture.width, picture.height},
            .size = size,
            .window = window,
            .antialias = how_.antialias,
            .filter = filter_of(how_, geometry)};
  }

  void add_thumbnail(const Size& picture, Geometry& geometry) const {
    const Size tile = to_size(rule_.tile());
    geometry.pieces.push_back(piece_of(picture, tile, {0, 0, tile.width, tile.height}, geometry));
  }

  // A picture that is smaller than the grid lies in its middle, with the odd pixel of the border behind it.
  void add_tiles(const config::PictureGrid& grid, const Size& picture, Geometry& geometry) const {
    const Size tile = to_size(rule_.tile()), all = to_size(rule_.size_of(grid));
    const Size size = to_size(rule_.size_within(grid, {picture.height, picture.width}));
    const int left = (all.width - size.width) / 2, top = (all.height - size.height) / 2;
    for (int row = 0; row < grid.rows; ++row)
      for (int column = 0; column < grid.columns; ++column)
        geometry.pieces.push_back(piece_of(
            picture, size, {column * tile.width - left, row * tile.height - top, tile.width, tile.height}, geometry));
  }

  config::GridRule rule_;
  Resampling how_;
  bool begins_with_thumbnail_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void grid(const PlacedOperation& placed, Nodes& nodes) {
  image::ProgramNode& node = image::program_node(nodes);
  node.add(std::make_unique<image::Grid>(placed.spec));
  if (!placed.spec.text("shape").empty()) node.write_grid(placed.extra);
}

}  // namespace spdld::media::ops
