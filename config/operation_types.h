// The type of each operation of config/operations.inc, made by the operation's own file.
#pragma once

#include "config/operation.h"

namespace spdld::config::ops {

#define OPERATION(name, medium) OperationType name();
#include "config/operations.inc"
#undef OPERATION

}  // namespace spdld::config::ops
