#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_list(const OperationSpec& spec, Signature& signature) {
  if (const std::string why = why_not_read(signature, "a list"); !why.empty()) return why;
  std::vector<Dimension> dimensions = {length_of(spec)};
  if (const int64_t width = spec.integer("width"); width != 0) dimensions.emplace_back(width);
  signature = tensor(dtype_named(spec.text("dtype")), std::move(dimensions));
  return "";
}

}  // namespace

OperationType parse_list() {
  Parameter dtype =
      choice("dtype", "of the tensor's elements; integer types take numbers without a fraction and an exponent",
             {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"}, "");
  dtype.fallback.reset();
  const Parameter width{.name = "width",
                        .type = ParameterType::kInteger,
                        .help = "how many numbers each element has; 0: an element is one number",
                        .fallback = Value(int64_t{0}),
                        .min = 0,
                        .max = kWidthMax};
  return {.name = "parse-list",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "A list of numbers, such as a txt member \"3, 5, 8\" or a list in JSON (from = \"json:meta.boxes\"), "
              "[length] or [length, width]; samples may differ in length.",
          .parameters = {dtype, width, length()},
          .bind = bind_list};
}

}  // namespace spdld::config::ops
