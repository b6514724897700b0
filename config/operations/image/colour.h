// The parameters, checks and signatures that operations on a picture's colours have in common. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

// One number, or the least and the greatest of drawn ones.
Parameter range(std::string_view name, std::string_view help, double min, double max);
// The operation's own parameters with `p` and `draw` behind them.
OperationType colour_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters,
                               double p);

// Colours are adjusted in pictures of 8 bits and of 1 or 3 channels; the error for any other picture.
std::string bind_colours(const OperationSpec& spec, Signature& signature);
// Complains about `draw`, and about lists of two numbers whose greatest number is not the last.
void check_colours(OperationSpec& spec, const Complain& complain);

}  // namespace spdld::config::ops
