// The parameters and signatures that five-crop and ten-crop have in common. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

// An operation that cuts several pieces out of a picture's corners and its middle; `further` parameters follow `size`.
OperationType corner_crops(std::string_view name, std::string_view help, std::vector<Parameter> further,
                           std::string (*bind)(const OperationSpec& spec, Signature& signature));
// So many pieces of the operation's `size`.
std::string bind_corner_crops(const OperationSpec& spec, int64_t count, Signature& signature);

}  // namespace spdld::config::ops
