#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType horizontal_flip() {
  return {.name = "horizontal-flip",
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = "Mirror left and right with probability p.",
          .parameters = {probability(0.5), draw()},
          .bind = [](const OperationSpec&, Signature&) { return std::string(); },
          .check = [](OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); },
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

}  // namespace spdld::config::ops
