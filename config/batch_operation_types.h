// The type of each operation of config/batch_operations.inc, made by the operation's own file.
#pragma once

#include "config/batch_operation.h"

namespace spdld::config::batch_ops {

#define BATCH_OPERATION(name) BatchOperationType name();
#include "config/batch_operations.inc"
#undef BATCH_OPERATION

// Both parameters of its Beta distribution.
inline Parameter alpha(double fallback) {
  return {.name = "alpha",
          .type = ParameterType::kNumber,
          .help = "lam is drawn from the Beta distribution (alpha, alpha)",
          .fallback = Value(fallback),
          .min = 0.01,
          .max = 100};
}

}  // namespace spdld::config::batch_ops
