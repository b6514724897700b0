#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/operations/image/policies/holder.h"

namespace spdld::config::ops {

OperationType random_apply() {
  return holder("random-apply",
                "Do all of the operations in `ops` with probability p, or none of them, as torchvision's RandomApply.",
                Holds::kInTurn, {probability(0.5)});
}

}  // namespace spdld::config::ops
