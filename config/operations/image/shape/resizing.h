// The parameters, checks and signatures that operations with a drawn size have in common: random-resize,
// random-shortest-size and scale-jitter. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

// Lengths of a side, in whole pixels.
Parameter sides(std::string_view name, std::string_view help);
// An operation with these parameters, with `antialias`, `filter` and `draw` behind them, whose result has another size
// for each sample.
OperationType resizing_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters);
// Complains about the filter and about `draw`.
void check_resizing(OperationSpec& spec, const Complain& complain);

}  // namespace spdld::config::ops
