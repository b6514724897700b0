#include "daemon/node/seats/tuning.h"

#include <algorithm>
#include <utility>

namespace spdld::node {
namespace {

constexpr uint64_t kLimitLookNs = 10ull * 1'000'000'000;  // cpu.max and affinity may change under a daemon
constexpr double kDryMinS = 0.5, kDryMaxS = 5;            // without a batch, before a trainer is taken to wait

std::vector<pipeline::TunedStage> tuned(const std::vector<pipeline::Executor>& executors) {
  std::vector<pipeline::TunedStage> stages;
  for (const pipeline::Executor& executor : executors) stages.push_back(executor.tuned);
  return stages;
}

}  // namespace

Tuning::Tuning(const config::DaemonSettings& settings, std::vector<pipeline::Executor> executors, unsigned cores,
               uint64_t now_ns, std::function<unsigned()> cores_later)
    : settings_(settings),
      looked_ns_(now_ns),
      limit_looked_ns_(looked_ns_),
      cores_now_(std::move(cores_later)),
      cores_(cores),
      executors_(std::move(executors)),
      busy_seen_ns_(executors_.size(), 0),
      tuner_(tuned(executors_), limits_now({})) {
  apply({});
}

size_t Tuning::place_of(std::string_view executor) const {
  const auto at = std::find_if(executors_.begin(), executors_.end(), [executor](const pipeline::Executor& one) {
    return one.tuned.account.name == executor;
  });
  return static_cast<size_t>(at - executors_.begin());
}

uint32_t Tuning::lanes(std::string_view executor) const {
  const size_t place = place_of(executor);
  return place < executors_.size() ? decision().stages[place] : 0;
}

uint32_t Tuning::lanes_max(std::string_view executor) const {
  const size_t place = place_of(executor);
  return place < executors_.size() ? limits().stages[place].max : 0;
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
  pipeline::TunerInput input = measure(feeds, now_ns);
  if (!feeds.empty()) tuner_.step(input);
  apply(feeds);
}

pipeline::TunerLimits Tuning::limits_now(const std::vector<Feed*>& feeds) {
  pipeline::TunerLimits limits;
  for (const pipeline::Executor& executor : executors_) limits.stages.push_back(executor.limit(settings_, cores_));
  for (const Feed* feed : feeds) limits.depth.max = std::max(limits.depth.max, feed->depth_max());
  if (feeds.empty()) limits.depth.max = std::max(1u, settings_.tuning_depth);  // what is pinned is told as it is
  limits.depth.pinned = std::min(settings_.tuning_depth, limits.depth.max);
  if (settings_.tuning_enabled) return limits;
  const auto pin = [](pipeline::TunerLimits::Limit& limit) {
    if (!limit.pinned) limit.pinned = limit.max;
  };
  for (auto& stage : limits.stages) pin(stage);
  pin(limits.depth);
  return limits;
}

// A trainer tells that it waited when it gives a batch back, and so not as long as it waits. Whether a ring lies dry:
// nothing is ready there, and no batch has come for longer than its trainer is used to.
bool Tuning::is_dry(const Feed& feed, Seen& seen, uint64_t batches, uint64_t now_ns) {
  if (batches > 0 || seen.batch_ns == 0) {
    if (seen.batch_ns != 0) seen.between_s = seconds(now_ns - seen.batch_ns) / static_cast<double>(batches);
    seen.batch_ns = now_ns;
    return false;
  }
  const auto levels = feed.ring().levels();
  // Where no sample waits for a turn, the source is slow or down, and threads would not help.
  const auto& stages = feed.pipeline().stages();
  const bool wants_turn = std::any_of(stages.begin(), stages.end(),
                                      [](const auto& stage) { return stage->statistics().waiting.level() > 0; });
  return levels.filling > 0 && levels.ready == 0 && wants_turn &&
         seconds(now_ns - seen.batch_ns) > std::clamp(2 * seen.between_s, kDryMinS, kDryMaxS);
}

pipeline::TunerInput Tuning::measure(const std::vector<Feed*>& feeds, uint64_t now_ns) {
  pipeline::TunerInput input;
  input.seconds = seconds(now_ns - std::exchange(looked_ns_, now_ns));
  input.ready_low = feeds.empty() ? 0 : UINT32_MAX;
  std::map<const Feed*, Seen> seen;
  for (Feed* feed : feeds) {
    const auto& counted = feed->ring().statistics();
    Seen now{counted.batches, counted.starved_ns};
    // A ring that is new began at nothing; it may lie where an older one lay.
    const Seen before = seen_[feed].batches <= now.batches ? seen_[feed] : Seen();
    input.batches += now.batches - before.batches;
    input.starved_s = std::max(input.starved_s, seconds(now.starved_ns - std::min(before.starved_ns, now.starved_ns)));
    now.batch_ns = before.batch_ns;
    now.between_s = before.between_s;
    if (is_dry(*feed, now, now.batches - before.batches, now_ns)) input.starved_s = input.seconds;
    input.ready_low = std::min(input.ready_low, feed->take_ready_low().value_or(UINT32_MAX));
    seen[feed] = now;
  }
  seen_ = std::move(seen);
  for (size_t i = 0; i < executors_.size(); i++) {
    const uint64_t busy_ns = std::max(executors_[i].busy_ns(), busy_seen_ns_[i]);
    input.stages.push_back(
        {seconds(busy_ns - std::exchange(busy_seen_ns_[i], busy_ns)), static_cast<uint32_t>(executors_[i].waiting())});
  }
  return input;
}

void Tuning::apply(const std::vector<Feed*>& feeds) {
  const pipeline::TunerDecision& decision = tuner_.decision();
  for (size_t i = 0; i < executors_.size(); i++) executors_[i].set_lanes(decision.stages[i], tuner_.limits().stages[i]);
  for (Feed* feed : feeds) feed->set_depth(std::min(decision.depth, feed->depth_max()));
}

}  // namespace spdld::node
