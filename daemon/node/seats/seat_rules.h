// The rules by which a newcomer is refused a seat. Each error says what is wrong and what to do. Pure functions.
#pragma once

#include <string>

#include "daemon/control/service.h"
#include "daemon/node/seats/feed.h"
#include "daemon/node/seats/placement.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/sampler/sharding.h"

namespace spdld::node {

// The newcomer's part of the samples. Throws SetupError where its batches can't be had like this.
sampler::Sharding sharding_for(const pipeline::Pipeline& pipeline, const control::AttachRequest& request);

// The position that the newcomer asks for. Throws SetupError where the training run has no such position.
sampler::Position start_of(const pipeline::Pipeline& pipeline, const sampler::Sharding& sharding,
                           const control::AttachRequest& request);

// Throws SetupError: the rank of this group `what`.
[[noreturn]] void refuse_seat(const control::AttachRequest& request, const std::string& what);

// Why slots of this kind, on this GPU, are not what the newcomer can take; empty: they are.
std::string misplaced(const Feed& feed, const Placement& wanted);

// Refuses a newcomer of the same group as `seat` in a feed of the same user and pipeline: another world size or global
// batch, a seat that is taken, another number of replicas. Throws SetupError (kConflict).
void check_beside(const Feed& feed, const Feed::Seat& seat, const control::AttachRequest& request,
                  const control::Client& client, const sampler::Sharding& sharding);

}  // namespace spdld::node
