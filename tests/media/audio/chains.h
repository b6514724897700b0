// Chains of operations on sound, with their parameters' defaults.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/operation.h"

namespace spdld::test {

// The operation with these parameters and the defaults of all others.
inline config::OperationSpec operation(std::string_view name, config::Parameters parameters) {
  config::OperationSpec spec{std::string(name), std::move(parameters), {}};
  for (const config::Parameter& parameter : config::find_operation(name)->parameters)
    if (parameter.fallback) spec.parameters.emplace(parameter.name, *parameter.fallback);
  return spec;
}

}  // namespace spdld::test
