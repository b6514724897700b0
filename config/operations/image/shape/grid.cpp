#include <algorithm>

#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/picture_grid.h"

namespace spdld::config::ops {
namespace {

constexpr int64_t kTilesMin = 1, kTilesMax = 12;  // InternVL's

Parameter tiles(std::string_view name, std::string_view help, int64_t fallback) {
  return {.name = name,
          .type = ParameterType::kInteger,
          .help = help,
          .fallback = Value(fallback),
          .min = 1,
          .max = static_cast<double>(kGridTilesMax)};
}

Parameter grids() {
  return {.name = "grids",
          .type = ParameterType::kNames,
          .help =
              "the grids themselves in the place of all with tiles_min to tiles_max tiles: \"ROWSxCOLUMNS\", such as "
              "[\"1x2\", \"2x1\", \"2x2\"]",
          .fallback = Value(std::string())};
}

Parameter shape() {
  return {.name = "shape",
          .type = ParameterType::kText,
          .help =
              "name of an extra output, int32 [B, 4]: rows and columns of the grid, height and width of the picture "
              "that was cut; none when empty",
          .fallback = Value(std::string())};
}

void check_grid(OperationSpec& spec, const Complain& complain) {
  check_filter(spec, complain);
  const int64_t least = spec.integer("tiles_min"), most = spec.integer("tiles_max");
  const bool is_listed = !spec.text("grids").empty();
  if (is_listed && grids_in(spec.text("grids")).empty())
    return complain("grids", "must be at most " + std::to_string(kGridsMax) +
                                 " grids such as \"2x3\", which is two rows and three columns, with at most " +
                                 std::to_string(kGridTilesMax) + " tiles");
  if (is_listed && (least != kTilesMin || most != kTilesMax))
    return complain("grids", "stands in the place of tiles_min and tiles_max: leave these out");
  if (least > most) return complain("tiles_min", "must be at most tiles_max, which is " + std::to_string(most));
  const GridRule rule(spec);
  for (const PictureGrid& grid : rule.grids()) {
    const PictureSize size = rule.size_of(grid);
    if (std::max(size.height, size.width) > kLongestSideMax)
      return complain("size", "makes grids that are longer than " + std::to_string(kLongestSideMax) +
                                  " pixels: write a smaller size, or fewer tiles");
  }
}

std::string bind_grid(const OperationSpec& spec, Signature& signature) {
  const GridRule rule(spec);
  const auto by_pieces = [&](const PictureGrid& a, const PictureGrid& b) { return rule.pieces(a) < rule.pieces(b); };
  const auto [fewest, most] = std::minmax_element(rule.grids().begin(), rule.grids().end(), by_pieces);
  signature = resized(signature, rule.tile().height, rule.tile().width, true);
  const int64_t pieces = rule.pieces(*most);
  signature.picture().pieces = rule.pieces(*fewest) == pieces ? Dimension(pieces) : Dimension::bounded(pieces);
  return "";
}

std::vector<ExtraTensor> chosen_grid(const OperationSpec& spec) {
  const std::string& name = spec.text("shape");
  if (name.empty()) return {};
  return {{name, "shape", DType::kInt32, {4}}};
}

}  // namespace

OperationType grid() {
  return {
      .name = "grid",
      .takes = SignatureKind::kImage,
      .gives = SignatureKind::kImage,
      .help =
          "Resize a picture to the grid of tiles that fits it, and cut the tiles out, row by row, as InternVL and "
          "LLaVA-NeXT do it: the tensor of a sample has the number of its tiles as the first dimension.",
      .parameters = {size("of each tile: one number (a square) or [height, width]"),
                     tiles("tiles_min", "the fewest tiles of a grid", kTilesMin),
                     tiles("tiles_max", "the most tiles of a grid", kTilesMax), grids(),
                     choice("rule",
                            "\"aspect\" takes the grid with the proportions closest to the picture's, and stretches "
                            "the picture to it (InternVL); \"resolution\" takes the grid that keeps most of the "
                            "picture's pixels, and lays the picture in its middle, with a black border (LLaVA-NeXT)",
                            {"aspect", "resolution"}, "aspect"),
                     choice("thumbnail",
                            "whether the whole picture, stretched to one tile, comes before or behind the tiles; a "
                            "stretched picture of one tile has none",
                            {"none", "first", "last"}, "none"),
                     shape(), antialias(), filter()},
      .bind = bind_grid,
      .check = check_grid,
      .extras = chosen_grid,
      .medium = PictureTraits{.view_part = ViewPart::kPieces}};
}

}  // namespace spdld::config::ops
