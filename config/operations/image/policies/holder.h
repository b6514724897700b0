// The parameters and checks of operations that hold other operations. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

// `further`: its parameters between `ops` and `draw`.
OperationType holder(std::string_view name, std::string_view help, Holds holds, std::vector<Parameter> further);

}  // namespace spdld::config::ops
