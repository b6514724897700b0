#include "config/operations/holder.h"
#include "config/operations/types.h"

namespace spdld::config::ops {

OperationType random_order() {
  return holder("random-order", "Do the operations in `ops` in a random order, as torchvision's RandomOrder.",
                Holds::kAnyOrder, {});
}

}  // namespace spdld::config::ops
