#include "config/npy_values.h"
#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_raw_int(const OperationSpec& spec, Signature& signature) {
  if (signature.bytes().origin == Origin::kName) return "can't read the sample's name: it holds no numbers";
  if (signature.bytes().origin == Origin::kJson) return "can't read a JSON value: for a number, write parse-int";
  const DType dtype = dtype_named(spec.text("dtype"));
  const auto& raw = signature.bytes().raw;
  if (raw && are_npy(*raw))
    return "can't read the field: its values are .npy files, with a shape each; write parse-npy";
  if (spec.integer("offset") < 0 && raw && raw->dtype && *raw->dtype != dtype)
    return "wants " + std::string(dtype_name(dtype)) + ", and the field's values are " +
           std::string(dtype_name(*raw->dtype));
  signature = integer();
  return "";
}

}  // namespace

OperationType raw_int() {
  return {
      .name = "raw-int",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kInteger,
      .help = "One integer in the field's bytes, little-endian, as an int64: a label in a record, which one-hot takes.",
      .parameters = {choice("dtype", "of the integer in the bytes",
                            {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"}, "int64"),
                     raw_offset()},
      .bind = bind_raw_int};
}

}  // namespace spdld::config::ops
