// The maker of each operation of config/batch_operations.inc; each stands in daemon/mixing/NAME.cpp.
#pragma once

#include "daemon/mixing/operation.h"

namespace spdld::mixing::ops {

#define BATCH_OPERATION(name) std::unique_ptr<Operation> name(const PlacedOperation& placed);
#include "config/batch_operations.inc"
#undef BATCH_OPERATION

}  // namespace spdld::mixing::ops
