#include "config/operations/image/shape/resizing.h"

#include <utility>

#include "config/operations/common.h"

namespace spdld::config::ops {

Parameter sides(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = ParameterType::kNumbers,
          .help = help,
          .min = 1,
          .max = kSideMax,
          .count_min = 1,
          .count_max = 1,
          .whole = true};
}

OperationType resizing_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters) {
  for (Parameter parameter : {antialias(), filter(), draw()}) parameters.push_back(std::move(parameter));
  return {.name = name,
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = help,
          .parameters = std::move(parameters),
          .bind =
              [](const OperationSpec&, Signature& signature) {
                signature = resized(signature, Dimension(), Dimension(), true);
                return std::string();
              },
          .check = check_resizing,
          .medium = PictureTraits{.view_part = ViewPart::kMoves}};
}

void check_resizing(OperationSpec& spec, const Complain& complain) {
  check_filter(spec, complain);
  check_draw(spec, complain);
}

}  // namespace spdld::config::ops
