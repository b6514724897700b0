// Operations for programs that show pictures. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "config/spec.h"
#include "config/text/dtype.h"

namespace spdld::config {

// Operations that bring a picture of any size into a square with this side, as a tensor in the default layout. `paper`:
// the colour of what surrounds the picture; none: black.
std::vector<OperationSpec> in_square(int side, const std::optional<std::vector<double>>& paper, DType dtype);

}  // namespace spdld::config
