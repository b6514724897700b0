#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_object_masks(const OperationSpec&, Signature& signature) {
  const Frame frame = signature.bytes().frame.value_or(Frame());
  return bind_mask(signature, tensor(DType::kUint8, {Dimension(), frame.height, frame.width}));
}

}  // namespace

OperationType object_masks() {
  return {.name = "object-masks",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "A mask for each object of a PNG whose values are the objects' numbers: cut, resized (nearest) and "
              "mirrored as the picture of the output's view, uint8 [n, height, width].",
          .parameters = {{.name = "of",
                          .type = ParameterType::kText,
                          .help = "name of the output whose boxes or points decide which objects are kept: its first "
                                  "element belongs to object 1; all objects when empty",
                          .fallback = Value(std::string())},
                         {.name = "ignore",
                          .type = ParameterType::kInteger,
                          .help = "a value that is no object, as 0 is none; -1: there is no such value",
                          .fallback = Value(int64_t{255}),
                          .min = -1,
                          .max = 65535}},
          .bind = bind_object_masks,
          .medium = PictureTraits{.view_part = ViewPart::kFollows, .keeps_rows_of = "of", .lists_masks = true},
          .decodes = true};
}

}  // namespace spdld::config::ops
