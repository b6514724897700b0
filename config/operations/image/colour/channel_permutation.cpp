#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType channel_permutation() {
  return colour_operation("channel-permutation",
                          "Put the channels into a random order, as torchvision's RandomChannelPermutation.", {}, 1);
}

}  // namespace spdld::config::ops
