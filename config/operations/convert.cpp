#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

void check_convert(OperationSpec& spec, const Complain& complain) {
  if (spec.text("dtype") == "uint8" && spec.number("scale") != 1)
    complain("scale", "must be 1 with dtype \"uint8\": write dtype = \"float32\" for scaled values");
}

}  // namespace

OperationType convert() {
  const Parameter scale{.name = "scale",
                        .type = ParameterType::kNumber,
                        .help = "each value 0..255 is multiplied by this number; uint8 takes only 1",
                        .fallback = Value(1.0),
                        .min = 0,
                        .max = 1000,
                        .above_min = true};
  return {
      .name = "convert",
      .takes = Kind::kImage,
      .gives = Kind::kTensor,
      .help =
          "The picture's values as a tensor; the last operation of its output, and the default when none is written.",
      .parameters = {choice("dtype", "of the tensor's elements", {"uint8", "float16", "bfloat16", "float32"}, "uint8"),
                     choice("layout", "order of height, width and channel", {"NHWC", "NCHW"}, "NHWC"), scale},
      .bind = bind_picture_tensor,
      .check = check_convert,
      .ends_images = true};
}

}  // namespace spdld::config::ops
