#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/picture_size.h"

namespace spdld::config::ops {
namespace {

std::string bind_tile(const OperationSpec& spec, Signature& signature) {
  if (spec.numbers("size").empty()) return "needs [rows] with kind = \"tiles\", which says what the tiles are";
  const PictureSize size = picture_size(spec);
  signature = resized(signature, size.height, size.width, signature.picture().is_resampled);
  return "";
}

}  // namespace

OperationType tile() {
  Parameter of_rows = size("of the tile; by default the size that [rows] has, and no other");
  of_rows.fallback = Value(std::vector<double>{});
  return {.name = "tile",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Cut out the row's tile, as [rows] with kind = \"tiles\" says.",
          .parameters = {of_rows},
          .bind = bind_tile,
          .row_piece = {.kind = RowKind::kTiles}};
}

}  // namespace spdld::config::ops
