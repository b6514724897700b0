#include "config/operations/image/in_square.h"

#include <string>
#include <utility>

#include "config/operation_types.h"

namespace spdld::config {
namespace {

// The operation with these parameters, and its defaults beside them.
OperationSpec operation(const OperationType& type, Parameters parameters) {
  OperationSpec spec{std::string(type.name), std::move(parameters), {}};
  for (const Parameter& parameter : type.parameters)
    if (parameter.fallback) spec.parameters.emplace(parameter.name, *parameter.fallback);
  return spec;
}

}  // namespace

std::vector<OperationSpec> in_square(int side, const std::optional<std::vector<double>>& paper, DType dtype) {
  const std::vector<double> square = {static_cast<double>(side)};
  std::vector<OperationSpec> made = {operation(ops::resize(), {{"size", square}, {"side", std::string("longer")}})};
  if (paper) made.push_back(operation(ops::pad(), {{"padding", square}, {"fill", *paper}}));
  made.push_back(operation(ops::center_crop(), {{"size", square}}));
  made.push_back(operation(ops::convert(), {{"dtype", std::string(dtype_name(dtype))}}));
  return made;
}

}  // namespace spdld::config
