#include "config/batch_operation.h"

#include <algorithm>

#include "config/batch_operation_types.h"
#include "config/operation.h"

namespace spdld::config {
namespace {

const std::vector<BatchOperationType>& batch_table() {
  static const std::vector<BatchOperationType> table = {
#define BATCH_OPERATION(name) batch_ops::name(),
#include "config/batch_operations.inc"
#undef BATCH_OPERATION
  };
  return table;
}

}  // namespace

std::span<const BatchOperationType> batch_operations() { return batch_table(); }

const BatchOperationType* find_batch_operation(std::string_view name) {
  const auto& table = batch_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const std::vector<Parameter>& batch_operation_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "op", .type = ParameterType::kText, .help = "the operation's name"},
      {.name = "images", .type = ParameterType::kTexts, .help = "the outputs that it mixes"},
      {.name = "labels",
       .type = ParameterType::kTexts,
       .help = "outputs of numbers that it mixes in the same proportion, or lists that belong to its boxes; by default "
               "none",
       .fallback = Value(std::string())},
      {.name = "share",
       .type = ParameterType::kNumber,
       .help =
           "the part of the samples that it mixes; by default 1, and to be given where there are several operations",
       .fallback = Value(1.0),
       .min = 0,
       .max = 1,
       .above_min = true}};
  return keys;
}

PictureShape shape_of(const Signature& end) {
  const std::vector<int64_t> shape = end.shape();
  const auto size = [&](size_t i) { return static_cast<uint64_t>(shape.at(i)); };
  if (layout_of(end) == Layout::kNchw) return {size(1), size(2), size(0)};
  return {size(0), size(1), size(2)};
}

Signature end_of(const OutputSpec& output) { return follow(output.ops, start_of(output.ops)).end(); }

const std::string& box_format_of(const OutputSpec& output) {
  const auto lists = [](const OperationSpec& op) { return find_operation(op.op)->picture().lists_boxes; };
  const OperationSpec& boxes = *std::find_if(output.ops.begin(), output.ops.end(), lists);
  return boxes.text(boxes.text("gives").empty() ? "format" : "gives");
}

namespace {

// The operation that makes fractions of an integer.
const OperationType& classes_writer() {
  return first_operation([](const OperationType& type) {
    return type.takes == SignatureKind::kInteger && type.gives == SignatureKind::kTensor;
  });
}

}  // namespace

std::string refuses_label(const Signature& end) {
  switch (end.dtype()) {
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      if (end.kind() == SignatureKind::kTensor) return "";
      break;
    default:
      break;
  }
  if (end.kind() == SignatureKind::kInteger)
    return "is an integer, and mixed labels are fractions: add { op = \"" + std::string(classes_writer().name) +
           "\", classes = N }";
  return "is " + std::string(dtype_name(end.dtype())) +
         ", and mixed labels are fractions: write dtype = \"float32\" in its last operation";
}

}  // namespace spdld::config
