#include "config/operations/image/policies/holder.h"

#include <utility>

#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType holder(std::string_view name, std::string_view help, Holds holds, std::vector<Parameter> further) {
  std::vector<Parameter> parameters = {{.name = kHeldOperations,
                                        .type = ParameterType::kOperations,
                                        .help = "operations that change a picture",
                                        .count_min = 1,
                                        .count_max = kHeldMax}};
  for (Parameter& parameter : further) parameters.push_back(std::move(parameter));
  parameters.push_back(draw());
  return {.name = name,
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = help,
          .parameters = std::move(parameters),
          .bind = nullptr,
          .check = [](OperationSpec& spec, const Complain& complain) { check_draw(spec, complain); },
          .medium = PictureTraits{.view_part = ViewPart::kMoves},
          .holds = holds};
}

}  // namespace spdld::config::ops
