#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType parse_float() {
  return {
      .name = "parse-float",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kTensor,
      .help =
          "A decimal number in ASCII, such as 0.5 or -1e-3, as one element; a number that is not finite is bad "
          "content.",
      .parameters = {choice("dtype", "of the tensor's elements", {"float32", "float64"}, "float32")},
      .bind = [](const OperationSpec& spec,
                 Signature& signature) { return bind_number(signature, tensor(dtype_named(spec.text("dtype")), {})); },
      .tells = Told::kNumber,
      .reads_numbers = true};
}

}  // namespace spdld::config::ops
