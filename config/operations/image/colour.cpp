#include "config/operations/image/colour.h"

#include <utility>

#include "config/operations/common.h"

namespace spdld::config::ops {

Parameter range(std::string_view name, std::string_view help, double min, double max) {
  return {.name = name,
          .type = ParameterType::kNumbers,
          .help = help,
          .min = min,
          .max = max,
          .count_min = 1,
          .count_max = 2};
}

OperationType colour_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters,
                               double p) {
  parameters.push_back(probability(p));
  parameters.push_back(draw());
  return {.name = name,
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = help,
          .parameters = std::move(parameters),
          .bind = bind_colours,
          .check = check_colours};
}

std::string bind_colours(const OperationSpec&, Signature& signature) {
  if (signature.picture().bits != 8)
    return "takes pictures of 8 bits, and these have " + std::to_string(signature.picture().bits) +
           ": leave `bits` of decode-image out";
  if (signature.picture().channels == 4)
    return "takes pictures of 1 or 3 channels, and these have alpha: write `colours` = \"rgb\" or \"grey\" in "
           "decode-image";
  return "";
}

void check_colours(OperationSpec& spec, const Complain& complain) {
  for (const std::string_view name : {"factor", "gamma", "sigma", "quality"}) {
    const auto found = spec.parameters.find(name);
    if (found == spec.parameters.end()) continue;
    const auto* numbers = std::get_if<std::vector<double>>(&found->second);
    if (numbers != nullptr && numbers->front() > numbers->back())
      complain(name, "must have its least number first: [least, greatest]");
  }
  check_draw(spec, complain);
}

}  // namespace spdld::config::ops
