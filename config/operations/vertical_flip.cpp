#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {

OperationType vertical_flip() {
  const Parameter p{
      .name = "p", .type = ParameterType::kNumber, .help = "probability", .fallback = Value(0.5), .min = 0, .max = 1};
  return {.name = "vertical-flip",
          .takes = Kind::kImage,
          .gives = Kind::kImage,
          .help = "Mirror top and bottom with probability p.",
          .parameters = {p, draw()},
          .bind = [](const OperationSpec&, Signature&) { return std::string(); },
          .check = [](OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); },
          .view_part = ViewPart::kMoves};
}

}  // namespace spdld::config::ops
