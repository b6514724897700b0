#include "config/batch_operation_types.h"

namespace spdld::config::batch_ops {
namespace {

std::string refuses_copy_paste(const Signature& end) {
  if (layout_of(end)) return "";
  return "is no picture, and copy-paste copies the pixels of objects";
}

}  // namespace

BatchOperationType copy_paste() {
  const Parameter pixels{.name = "min_pixels",
                         .type = ParameterType::kInteger,
                         .help = "own objects that keep fewer visible pixels are dropped",
                         .fallback = Value(int64_t{1}),
                         .min = 0,
                         .max = 1 << 28};
  return {
      .name = "copy-paste",
      .help =
          "Random objects of the partner's picture on the sample's own, with their boxes, masks and labels (Ghiasi et "
          "al. 2021).",
      .parameters = {{.name = "boxes",
                      .type = ParameterType::kText,
                      .help = "the output with the boxes on the picture"},
                     {.name = "masks",
                      .type = ParameterType::kText,
                      .help = "the output of `labels` with the masks of the objects"},
                     pixels},
      .refuses = refuses_copy_paste,
      .boxes = "boxes",
      .masks = "masks"};
}

}  // namespace spdld::config::batch_ops
