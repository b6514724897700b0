// Parameters that policies of automatic augmentation have in common. Pure functions.
#pragma once

#include "config/operation.h"

namespace spdld::config::ops {

// `num_ops`: how many changes there are.
Parameter change_count();
// `bins`: how many magnitudes a change has.
Parameter magnitude_bins();

}  // namespace spdld::config::ops
