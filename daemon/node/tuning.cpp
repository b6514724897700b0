#include "daemon/node/tuning.h"

#include <algorithm>
#include <utility>

namespace spdld::node {
namespace {

constexpr uint64_t kLimitLookNs = 10ull * 1'000'000'000;  // cpu.max and affinity may change under a daemon

}  // namespace

Tuning::Tuning(const config::DaemonSettings& settings, FairPool& pool, source::LocalFetcher& fetcher, uint64_t now_ns,
               std::function<unsigned()> cores)
    : settings_(settings),
      pool_(pool),
      fetcher_(fetcher),
      tuner_({}),
      looked_ns_(now_ns),
      limit_looked_ns_(looked_ns_),
      cores_now_(std::move(cores)),
      cores_(pool.threads()) {
  tuner_ = pipeline::Tuner(limits_now({}));
  apply({});
}

void Tuning::set_settings(const config::DaemonSettings& settings) {
  settings_.tuning_enabled = settings.tuning_enabled;
  settings_.tuning_decode = settings.tuning_decode;
  settings_.tuning_fetch = settings.tuning_fetch;
  settings_.tuning_depth = settings.tuning_depth;
}

void Tuning::look(const std::vector<Feed*>& feeds, uint64_t now_ns) {
  if (!settings_.cpu_budget && now_ns - limit_looked_ns_ >= kLimitLookNs) {
    limit_looked_ns_ = now_ns;
    cores_ = cores_now_();
  }
  tuner_.set_limits(limits_now(feeds));
  pipeline::TunerInput input = measure(feeds);
  input.seconds = seconds(now_ns - std::exchange(looked_ns_, now_ns));
  if (!feeds.empty()) tuner_.step(input);
  apply(feeds);
}

pipeline::TunerLimits Tuning::limits_now(const std::vector<Feed*>& feeds) {
  pipeline::TunerLimits limits;
  limits.decode_max = std::clamp(cores_, 1u, pool_.threads());
  limits.fetch_max = settings_.fetch_concurrency;
  for (const Feed* feed : feeds) limits.depth_max = std::max(limits.depth_max, feed->depth_max());
  if (feeds.empty()) limits.depth_max = std::max(1u, settings_.tuning_depth);  // what is pinned is told as it is
  limits.decode_pinned = std::min(settings_.tuning_decode, pool_.threads());
  limits.fetch_pinned = std::min(settings_.tuning_fetch, limits.fetch_max);
  limits.depth_pinned = std::min(settings_.tuning_depth, limits.depth_max);
  if (settings_.tuning_enabled) return limits;
  if (!limits.decode_pinned) limits.decode_pinned = limits.decode_max;
  if (!limits.fetch_pinned) limits.fetch_pinned = limits.fetch_max;
  if (!limits.depth_pinned) limits.depth_pinned = limits.depth_max;
  return limits;
}

pipeline::TunerInput Tuning::measure(const std::vector<Feed*>& feeds) {
  pipeline::TunerInput input;
  input.ready_low = feeds.empty() ? 0 : UINT32_MAX;
  std::map<const Feed*, Seen> seen;
  for (Feed* feed : feeds) {
    const auto& counted = feed->ring().statistics();
    const Seen now{counted.batches, counted.starved_ns};
    // A ring that is new began at nothing; it may lie where an older one lay.
    const Seen before = seen_[feed].batches <= now.batches ? seen_[feed] : Seen();
    input.batches += now.batches - before.batches;
    input.starved_s = std::max(input.starved_s, seconds(now.starved_ns - std::min(before.starved_ns, now.starved_ns)));
    input.ready_low = std::min(input.ready_low, feed->take_ready_low().value_or(UINT32_MAX));
    seen[feed] = now;
  }
  seen_ = std::move(seen);
  const uint64_t decode_ns = pool_.busy_ns().value(), fetch_ns = fetcher_.statistics().duration_ns.sum();
  input.decode_busy_s = seconds(decode_ns - std::exchange(decode_busy_ns_, decode_ns));
  input.fetch_busy_s = seconds(fetch_ns - std::exchange(fetch_busy_ns_, fetch_ns));
  input.decode_waiting = static_cast<uint32_t>(pool_.waiting());
  return input;
}

void Tuning::apply(const std::vector<Feed*>& feeds) {
  const pipeline::TunerDecision& decision = tuner_.decision();
  pool_.set_concurrency(decision.decode);
  fetcher_.set_concurrency(decision.fetch);
  for (Feed* feed : feeds) feed->set_depth(std::min(decision.depth, feed->depth_max()));
}

}  // namespace spdld::node
