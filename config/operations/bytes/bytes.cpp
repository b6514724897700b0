#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType bytes() {
  return {.name = "bytes",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help = "The bytes as they are, uint8 [length]; samples differ in length.",
          .parameters = {flag("text", "the bytes must be UTF-8, and too_long = \"cut\" cuts between two characters",
                              false)},
          .bind =
              [](const OperationSpec&, Signature& signature) {
                signature = tensor(DType::kUint8, {Dimension()});
                return std::string();
              },
          .copies_bytes = true};
}

}  // namespace spdld::config::ops
