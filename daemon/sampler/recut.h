// One order, cut into steps of two sizes: which steps of the one lie where in the other. Both cuts are of a job's only
// rank and of the same samples, with the same rule for an epoch's end. Pure functions.
#pragma once

#include "daemon/sampler/sharding.h"

namespace spdld::sampler {

// Whether all positions that an epoch of `part` has, padded ones as well, are among those of `whole`.
bool covers(const Sharding& whole, const Sharding& part);

// The step of `cut` that has the first position of the step `at` of `of`. Precondition: covers(cut, of).
Position step_with(const Sharding& cut, const Sharding& of, Position at);

// The first step of `cut` of which nothing lies before the step `at` of `of`.
Position step_from(const Sharding& cut, const Sharding& of, Position at);

}  // namespace spdld::sampler
