#include "config/operation_types.h"
#include "config/operations/image/colour.h"

namespace spdld::config::ops {

OperationType jpeg() {
  Parameter quality = range("quality", "of the JPEG, or [least, greatest] of a drawn one", 1, 100);
  quality.whole = true;
  return colour_operation("jpeg",
                          "Encode the picture as a JPEG and decode it again, for the marks that this leaves, as "
                          "torchvision's JPEG.",
                          {quality}, 1);
}

}  // namespace spdld::config::ops
