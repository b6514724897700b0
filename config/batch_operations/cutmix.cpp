#include "config/batch_operation_types.h"

namespace spdld::config::batch_ops {
namespace {

std::string refuses_cutmix(const Signature& end) {
  if (layout_of(end)) return "";
  return "is no picture, or several pieces of one, and cutmix cuts boxes out of pictures";
}

}  // namespace

BatchOperationType cutmix() {
  return {.name = "cutmix",
          .help =
              "A box of the partner's picture in the place of the sample's own; labels are mixed by the box's area "
              "(Yun et al. 2019).",
          .parameters = {alpha(1.0)},
          .refuses = refuses_cutmix,
          .has_boxes = true};
}

}  // namespace spdld::config::batch_ops
