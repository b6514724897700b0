// How jobs share a stream: which of their rings a job joins, and from which ring another is filled whose batches are of
// another size.
#include <algorithm>

#include "daemon/node/seats/seating.h"
#include "daemon/sampler/recut.h"

namespace spdld::node {

Feed::Sharing Seating::plan_sharing(const Newcomer& newcomer) const {
  const auto& batch = newcomer.pipeline->spec().batch;
  // Beyond what a job holds, two lie in its socket, so that it never waits for an answer.
  Feed::Sharing sharing{{newcomer.held_max() + 2, batch.prefetch_depth, newcomer.sharding.steps()},
                        lent_.settings.share_jobs_max,
                        uint64_t{lent_.settings.share_lag_ms_max} * 1'000'000};
  const auto jobs = static_cast<uint32_t>((kSlotsMax - sharing.ring.slots(0)) / sharing.ring.credit);
  sharing.jobs_max = std::clamp(sharing.jobs_max, 1u, std::max(1u, jobs));
  return sharing;
}

// Only a job of one rank can be tapped: ranks of two batch sizes have other parts of the order.
std::optional<Seating::TapPlan> Seating::find_tap(const Newcomer& newcomer, sampler::Position start) const {
  const auto feeds = feeds_.find(newcomer.pipeline.get());
  if (feeds == feeds_.end() || newcomer.key.batch_size == 0) return std::nullopt;
  const sampler::Sharding& own = newcomer.sharding;
  const delivery::Ring::Shared ring = plan_sharing(newcomer).ring;
  const uint64_t window = uint64_t{ring.depth} + ring.credit;
  for (const auto& [key, feed] : feeds->second) {
    const bool streams = key.batch_size != 0 && key.batch_size != newcomer.key.batch_size && !feed->tap();
    if (key.uid != newcomer.key.uid || !streams || feed->layout().has_shapes()) continue;
    const sampler::Sharding& theirs = feed->sharding();
    const bool can_be_copied = newcomer.placement.is_at(feed->kind(), feed->setting().gpu);
    if (!sampler::covers(theirs, own) || !can_be_copied) continue;
    const auto early = sampler::step_with(theirs, own, start);
    const uint64_t reach = window * own.global_size() / theirs.global_size() + 1;
    if (feed->entry(control::Join::kExact, early, reach)) return TapPlan{feed, early, start};
    const sampler::Position wanted = own.by_one_name(newcomer.request.position);
    const auto asked = sampler::step_with(theirs, own, wanted);
    const auto given = feed->entry(newcomer.request.join, asked, reach);
    if (given) return TapPlan{feed, *given, *given == asked ? wanted : sampler::step_from(own, theirs, *given)};
  }
  return std::nullopt;
}

}  // namespace spdld::node
