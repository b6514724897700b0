#include "config/operations/image/policies/policy.h"

namespace spdld::config::ops {

Parameter change_count() {
  return {.name = "num_ops",
          .type = ParameterType::kInteger,
          .help = "how many changes are drawn, one after another",
          .fallback = Value(int64_t{2}),
          .min = 1,
          .max = 16};
}

Parameter magnitude_bins() {
  return {.name = "bins",
          .type = ParameterType::kInteger,
          .help = "how many magnitudes each change has, from none to the strongest",
          .fallback = Value(int64_t{31}),
          .min = 2,
          .max = 1000};
}

}  // namespace spdld::config::ops
