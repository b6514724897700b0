#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

std::string bind_values(const OperationSpec& spec, Signature& signature) {
  const Frame frame = signature.frame.value_or(Frame());
  return bind_mask(signature, tensor(dtype_named(spec.text("dtype")), {frame.height, frame.width}));
}

void check_mask(OperationSpec& spec, const Complain& complain) {
  if (spec.text("dtype") == "uint8" && spec.integer("fill") > 255)
    complain("fill", "must be at most 255 with dtype \"uint8\", not " + std::to_string(spec.integer("fill")));
}

}  // namespace

OperationType decode_mask() {
  const Parameter fill{.name = "fill",
                       .type = ParameterType::kInteger,
                       .help = "the value where the geometry leaves the picture, which is black there",
                       .fallback = Value(int64_t{0}),
                       .min = 0,
                       .max = 65535};
  return {.name = "decode-mask",
          .takes = Kind::kBytes,
          .gives = Kind::kTensor,
          .help =
              "The stored values of a PNG with a palette or of a grey PNG, cut, resized (nearest) and mirrored as the "
              "picture of the output's view; [height, width].",
          .parameters = {choice("dtype", "of the tensor's elements; a value that it can't hold is bad content",
                                {"uint8", "uint16", "int64"}, "uint8"),
                         fill},
          .bind = bind_values,
          .check = check_mask,
          .view_part = ViewPart::kFollows};
}

}  // namespace spdld::config::ops
