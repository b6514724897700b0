#include "config/operation_types.h"
#include "config/operations/image/policies/holder.h"

namespace spdld::config::ops {

OperationType random_order() {
  return holder("random-order", "Do the operations in `ops` in a random order, as torchvision's RandomOrder.",
                Holds::kAnyOrder, {});
}

}  // namespace spdld::config::ops
