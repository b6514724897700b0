#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_padding(const OperationSpec& spec, Signature& signature) {
  signature = tensor(DType::kUint8, {spec.integer("length")});
  return "";
}

}  // namespace

OperationType pad_bytes() {
  const Parameter length{
      .name = "length", .type = ParameterType::kInteger, .help = "of the tensor, in bytes", .min = 1, .max = kBytesMax};
  return {.name = "pad-bytes",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help = "The bytes as they are, uint8 [length], filled up with zeros; longer content is bad content.",
          .parameters = {length},
          .bind = bind_padding};
}

}  // namespace spdld::config::ops
