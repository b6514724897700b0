// One order, cut into steps of two sizes: maps steps of one cut to steps of the other. Both cuts are for a job's only
// rank and over the same samples, with the same rule for an epoch's end, and their steps come in turn. Pure functions.
#pragma once

#include "daemon/sampler/sharding.h"

namespace spdld::sampler {

// Whether an epoch of `whole` has all positions that an epoch of `part` has, padded positions as well.
bool covers(const Sharding& whole, const Sharding& part);

// The step of `cut` that has the first position of the step `at` of `of`. Precondition: covers(cut, of).
Position step_with(const Sharding& cut, const Sharding& of, Position at);

// The first step of `cut` that lies nowhere before the step `at` of `of`.
Position step_from(const Sharding& cut, const Sharding& of, Position at);

}  // namespace spdld::sampler
