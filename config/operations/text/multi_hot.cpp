#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_multi_hot(const OperationSpec& spec, Signature& signature) {
  if (const std::string why = why_not_read(signature, "a list"); !why.empty()) return why;
  signature = tensor(dtype_named(spec.text("dtype")), {spec.integer("classes")});
  return "";
}

}  // namespace

OperationType multi_hot() {
  return {.name = "multi-hot",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "A list of classes, in text or in JSON, as a tensor [classes] that is 1 at each of them and 0 elsewhere; "
              "a number that is not from 0 to classes - 1 is bad content.",
          .parameters = {classes(), class_dtype()},
          .bind = bind_multi_hot};
}

}  // namespace spdld::config::ops
