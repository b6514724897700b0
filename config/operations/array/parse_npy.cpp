#include "config/npy_values.h"
#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr int kTrailingMax = 4;

std::string bind_npy(const OperationSpec& spec, Signature& signature) {
  if (const std::string why = why_not_read(signature, "a .npy file"); !why.empty()) return why;
  if (signature.bytes().origin == Origin::kJson) return "can't read a JSON value: for a list, write parse-list";
  const auto& raw = signature.bytes().raw;
  if (raw && are_npy(*raw) && raw->dtype && *raw->dtype != dtype_named(spec.text("dtype")))
    return "wants " + spec.text("dtype") + ", and the field's arrays are " + std::string(dtype_name(*raw->dtype));
  std::vector<Dimension> dimensions = {length_of(spec)};
  for (const double size : spec.numbers("shape")) dimensions.emplace_back(static_cast<int64_t>(size));
  signature = tensor(dtype_named(spec.text("dtype")), std::move(dimensions));
  return "";
}

void check_npy(OperationSpec& spec, const Complain& complain) {
  double elements = 1;
  for (const double size : spec.numbers("shape")) elements *= size;
  if (elements > kBytesMax)
    complain("shape", "may have at most " + std::to_string(static_cast<int64_t>(kBytesMax)) + " elements");
}

}  // namespace

OperationType parse_npy() {
  Parameter dtype = choice("dtype", "of the file's elements, and of the tensor's",
                           {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                            "float32", "float64", "complex64", "complex128"},
                           "");
  dtype.fallback.reset();
  const Parameter shape{
      .name = "shape",
      .type = ParameterType::kNumbers,
      .help = "of the file's array without its first dimension: [768] of float32 vectors [length, 768]",
      .fallback = Value(std::vector<double>()),
      .min = 1,
      .max = kBytesMax,
      .count_min = 0,
      .count_max = kTrailingMax,
      .whole = true};
  return {
      .name = "parse-npy",
      .takes = SignatureKind::kBytes,
      .gives = SignatureKind::kTensor,
      .help =
          "The array of a .npy file, [length] with the dimensions of shape behind it; samples may differ in length. "
          "The values stay as they are, in either order of bytes; another dtype or shape is bad content.",
      .parameters = {dtype, shape, length()},
      .bind = bind_npy,
      .check = check_npy};
}

}  // namespace spdld::config::ops
