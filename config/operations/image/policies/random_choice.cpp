#include <algorithm>

#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/policies/holder.h"

namespace spdld::config::ops {
namespace {

void check_choice(OperationSpec& spec, const Complain& complain) {
  const auto& weights = spec.numbers("weights");
  if (!weights.empty() && weights.size() != spec.ops.size())
    complain("weights", "must have a number for each of the " + std::to_string(spec.ops.size()) + " operations, not " +
                            std::to_string(weights.size()));
  else if (!weights.empty() && *std::max_element(weights.begin(), weights.end()) == 0)
    complain("weights", "must have a number above 0");
  check_draw(spec, complain);
}

}  // namespace

OperationType random_choice() {
  const Parameter weights{.name = "weights",
                          .type = ParameterType::kNumbers,
                          .help = "a number for each operation, which is chosen in this proportion; none: all alike",
                          .fallback = Value(std::vector<double>{}),
                          .min = 0,
                          .max = 1e6,
                          .count_min = 0,
                          .count_max = kHeldMax};
  OperationType type = holder("random-choice", "Do one of the operations in `ops`, as torchvision's RandomChoice.",
                              Holds::kOneOf, {weights});
  type.check = check_choice;
  return type;
}

}  // namespace spdld::config::ops
