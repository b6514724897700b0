#include <algorithm>

#include "config/npy_values.h"
#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr int kRawRankMax = 5;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

int64_t bytes_of_shape(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype));
  for (const int64_t size : shape) bytes *= size;
  return bytes;
}

// Says why such values do not fit the values that the source says its bytes hold; empty: they fit.
std::string misfit(const RawValues& has, DType dtype, const std::vector<int64_t>& shape, int64_t offset) {
  const bool is_ragged = !shape.empty() && shape.front() == 0;
  if (are_npy(has)) return "can't read the field: its values are .npy files, with a shape each; write parse-npy";
  const std::string wanted = "wants " + std::string(dtype_name(dtype)) + " " + shape_text(shape);
  if (offset < 0 && has.dtype && *has.dtype != dtype)
    return wanted + ", and the field's values are " + std::string(dtype_name(*has.dtype)) +
           (has.shape ? " " + shape_text(*has.shape) : std::string());
  if (!has.shape) return "";
  if (offset < 0 && has.dtype && *has.shape != shape && !is_ragged)
    return wanted + ", and the field's values are " + std::string(dtype_name(dtype)) + " " + shape_text(*has.shape);
  const int64_t bytes = bytes_of_shape(has.dtype.value_or(DType::kUint8), *has.shape);
  const int64_t taken = is_ragged ? 0 : bytes_of_shape(dtype, shape), first = std::max<int64_t>(offset, 0);
  const bool fits = offset < 0 ? is_ragged || taken == bytes : first <= bytes && taken <= bytes - first;
  if (fits) return "";
  return wanted + ", which takes " + std::to_string(taken) + " bytes" +
         (offset < 0 ? "" : " from byte " + std::to_string(offset) + " on") + ", and the field has " +
         std::to_string(bytes) + (offset < 0 && taken < bytes ? ": write an offset to take a part of them" : "");
}

std::string bind_raw(const OperationSpec& spec, Signature& signature) {
  if (signature.bytes().origin == Origin::kName) return "can't read the sample's name: it holds no numbers";
  if (signature.bytes().origin == Origin::kJson) return "can't read a JSON value: for a list, write parse-list";
  std::vector<int64_t> shape;
  for (const double size : spec.numbers("shape")) shape.push_back(static_cast<int64_t>(size));
  const DType dtype = dtype_named(spec.text("dtype"));
  if (signature.bytes().raw)
    if (std::string why = misfit(*signature.bytes().raw, dtype, shape, spec.integer("offset")); !why.empty())
      return why;
  std::vector<Dimension> dimensions;
  for (const int64_t size : shape) dimensions.push_back(size == 0 ? Dimension() : Dimension(size));
  signature = tensor(dtype, std::move(dimensions));
  return "";
}

void check_raw(OperationSpec& spec, const Complain& complain) {
  const auto& shape = spec.numbers("shape");
  double elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i > 0)
      return complain("shape", "may have a 0 in the first place alone, where samples differ in length");
    if (shape[i] > 0) elements *= shape[i];
  }
  if (elements > kRawElementsMax)
    complain("shape", "may have at most " + std::to_string(static_cast<int64_t>(kRawElementsMax)) + " elements");
}

}  // namespace

OperationType raw() {
  Parameter dtype = choice("dtype", "of the values",
                           {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                            "bfloat16", "float32", "float64", "complex64", "complex128"},
                           "");
  dtype.fallback.reset();
  const Parameter shape{.name = "shape",
                        .type = ParameterType::kNumbers,
                        .help =
                            "of the tensor; [] is one value, and a 0 in the first place stands for samples that "
                            "differ in length",
                        .fallback = Value(std::vector<double>()),
                        .min = 0,
                        .max = kRawElementsMax,
                        .count_min = 0,
                        .count_max = kRawRankMax,
                        .whole = true};
  return {.name = "raw",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "The field's bytes as the values of a tensor, little-endian and in the order of C: rows of an array, a "
              "part of a record, a list of numbers.",
          .parameters = {dtype, shape, raw_offset()},
          .bind = bind_raw,
          .check = check_raw,
          .reads_once = true,
          .copies_values = true};
}

}  // namespace spdld::config::ops
