#include "daemon/pipeline/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace spdld::pipeline {
namespace {

constexpr double kStarvedShare = 0.01;     // what is below it is noise
constexpr double kStarvedShareMax = 0.75;  // at most four times as much at once
constexpr double kUse = 0.9;               // of the threads that are kept; the rest is for what varies
constexpr double kBusy = 0.8;              // a stage above it is short
constexpr uint32_t kPatienceMax = 512;
constexpr uint32_t kRelapse = 24;     // raised within so many steps after it came down: it was needed
constexpr uint32_t kForgiven = 1000;  // steps after which half the patience is tried

constexpr uint32_t kStagePatience = 4, kDepthPatience = 8;

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// The epsilon: 1.8 / 0.9 is two.
uint32_t threads_for(double use) { return static_cast<uint32_t>(std::clamp(std::ceil(use / kUse - 1e-6), 1.0, 1e6)); }

uint32_t quarter_more(uint32_t value) { return value + std::max(value / 4, 1u); }

}  // namespace

Tuner::Tuner(const std::vector<TunedStage>& stages, const TunerLimits& limits) {
  for (const TunedStage& stage : stages) {
    Knob& knob = stages_.emplace_back();
    const std::string work = stage.account.work_inside();
    knob.unit = stage.account.lane + "s" + stage.account.behind;
    knob.busy = work + " was busy";
    knob.took = work + " took";
    knob.least = stage.min;
    knob.begin = stage.start;
    knob.patience = knob.patience_min = kStagePatience;
  }
  depth_.unit = "batches ready";
  depth_.busy = "no stage was";
  depth_.patience = depth_.patience_min = kDepthPatience;
  set_limits(limits);
}

void Tuner::set_limits(const TunerLimits& limits) {
  limits_ = limits;
  changed_in_step_ = false;
  for (size_t i = stages_.size(); i-- > 0;) bound(stages_[i], limits.stages.at(i));
  bound(depth_, limits.depth);
}

void Tuner::bound(Knob& knob, const TunerLimits::Limit& limit) {
  const uint32_t before = knob.start, max = std::max(limit.max, 1u);
  knob.min = limit.pinned ? std::min(limit.pinned, max) : std::min(knob.least, max);
  knob.max = limit.pinned ? knob.min : max;
  knob.start = std::clamp(knob.begin ? knob.begin : max, knob.min, knob.max);
  const uint32_t to = knob.value == before ? knob.start : std::clamp(knob.value, knob.min, knob.max);
  if (!before) {
    knob.value = to;
    change(knob, to, "");
  } else {
    change(knob, to, limit.pinned ? "pinned" : "the limits changed");
  }
}

void Tuner::add_to_pending(const TunerInput& input) {
  pending_.seconds += input.seconds;
  pending_.batches += input.batches;
  pending_.starved_s += input.starved_s;
  pending_.stages.resize(stages_.size());
  for (size_t i = 0; i < input.stages.size(); i++) pending_.stages.at(i).busy_s += input.stages[i].busy_s;
}

bool Tuner::is_busy(const Knob& knob, double use, uint32_t waiting) {
  return use >= kBusy * knob.value || (waiting > 0 && waiting >= knob.value);
}

// Whether a trainer waits for a batch that does not come, while a stage is busy: with dear samples, or with others'.
bool Tuner::waits_in_vain(const TunerInput& input) const {
  if (pending_.starved_s <= kStarvedShare * pending_.seconds) return false;
  for (size_t i = 0; i < input.stages.size(); i++)
    if (is_busy(stages_[i], pending_.stages[i].busy_s / pending_.seconds, input.stages[i].waiting)) return true;
  return false;
}

const TunerDecision& Tuner::step(const TunerInput& input) {
  changed_in_step_ = false;
  add_to_pending(input);
  const bool tells = pending_.batches > 0 || waits_in_vain(input);
  if (!tells || pending_.seconds <= 0) {
    // A trainer that does something else asks for nothing, and will want what it wanted before.
    const bool is_still = std::all_of(pending_.stages.begin(), pending_.stages.end(),
                                      [](const TunerInput::StageUse& stage) { return stage.busy_s <= 0; });
    if (is_still && pending_.starved_s <= 0) pending_ = {};
    return decision_;
  }
  pending_.ready_low = pending_.batches > 0 ? input.ready_low : 0;
  for (size_t i = 0; i < input.stages.size(); i++) pending_.stages[i].waiting = input.stages[i].waiting;
  const TunerInput interval = std::exchange(pending_, {});
  Use use{{}, interval.ready_low};
  for (const auto& stage : interval.stages) use.stages.push_back(stage.busy_s / interval.seconds);
  recent_[seen_++ % kWindow] = use;
  const auto age = [](Knob& knob) {
    knob.calm++;
    if (knob.since_lowered < kForgiven) knob.since_lowered++;
  };
  for (Knob& knob : stages_) age(knob);
  age(depth_);
  const double share = interval.starved_s / interval.seconds;
  if (share > kStarvedShare)
    on_starved(interval, use, std::min(share, kStarvedShareMax));
  else
    on_calm();
  return decision_;
}

void Tuner::on_starved(const TunerInput& input, const Use& use, double share) {
  const std::string waited = "trainers waited " + std::to_string(std::lround(100 * share)) + " % of the time and ";
  // No more is wanted of one stage than the others can give at their most.
  double wanted = 1 / (1 - share);
  for (size_t i = 0; i < stages_.size(); i++) wanted = std::min(wanted, stages_[i].max / std::max(use.stages[i], 1e-9));
  wanted = std::max(wanted, 1.0);
  depth_.calm = 0;
  bool is_short = false;                       // some stage was busy, or got more
  const Knob* behind = nullptr;                // a later stage that was busy
  const Knob* at_the_end = nullptr;            // a later stage that was busy and can't get more
  for (size_t i = stages_.size(); i-- > 0;) {  // the last stage first
    Knob& knob = stages_[i];
    const bool busy = is_busy(knob, use.stages[i], input.stages[i].waiting);
    const bool is_at_end = busy && knob.value == knob.max;
    if (!at_the_end)
      knob.calm = 0;
    else if (seen_ >= kWindow)  // a later stage gives all that it can: this one may do more than it takes
      come_down(knob, threads_for(recent_use().stages[i]),
                at_the_end->busy + " and " + knob.took + " " + one_decimal(use.stages[i]));
    // Where samples wait for a later stage, more of this one would only make more of them wait.
    const uint32_t to = std::max(threads_for(use.stages[i] * wanted), busy && !behind ? quarter_more(knob.value) : 0);
    is_short |= busy;
    is_short |= raise(knob, to, waited + knob.busy);
    if (busy) behind = &knob;
    if (is_at_end) at_the_end = &knob;
  }
  if (!is_short) raise(depth_, quarter_more(depth_.value), waited + depth_.busy);
}

void Tuner::on_calm() {
  if (seen_ < kWindow) return;
  const Use use = recent_use();
  for (size_t i = stages_.size(); i-- > 0;)
    come_down(stages_[i], threads_for(use.stages[i]),
              "no trainer waited and " + stages_[i].took + " " + one_decimal(use.stages[i]));
  // One unused batch stays: the trainer may have taken it unseen.
  const uint32_t unused = std::max(use.ready_low, 1u) - 1;
  come_down(depth_, depth_.value - std::min(unused, depth_.value),
            "at least " + std::to_string(use.ready_low) + " lay ready at all times");
}

Tuner::Use Tuner::recent_use() const {
  Use use{std::vector<double>(stages_.size()), UINT32_MAX};
  for (const Use& one : recent_) {
    for (size_t i = 0; i < one.stages.size(); i++) use.stages[i] += one.stages[i] / kWindow;
    use.ready_low = std::min(use.ready_low, one.ready_low);
  }
  return use;
}

bool Tuner::raise(Knob& knob, uint32_t to, const std::string& why) {
  to = std::clamp(to, knob.min, knob.max);
  if (to <= knob.value) return false;
  if (knob.since_lowered <= kRelapse) knob.patience = std::min(2 * knob.patience, kPatienceMax);
  knob.since_lowered = kForgiven;
  change(knob, to, why);
  return true;
}

void Tuner::come_down(Knob& knob, uint32_t to, const std::string& why) {
  to = std::clamp(std::max(to, knob.value / 2), knob.min, knob.max);  // by half at most
  if (to >= knob.value || knob.calm < knob.patience) return;
  if (knob.calm >= kForgiven) knob.patience = std::max(knob.patience / 2, knob.patience_min);
  knob.since_lowered = 0;
  change(knob, to, why);
}

void Tuner::change(Knob& knob, uint32_t to, const std::string& why) {
  if (to != knob.value) {
    const std::string text = why + ": " + std::to_string(knob.value) + " -> " + std::to_string(to) + " " + knob.unit;
    decision_.reason = changed_in_step_ ? decision_.reason + "; " + text : text;
    changed_in_step_ = true;
    decision_.changes++;
    knob.calm = 0;
    knob.value = to;
  }
  decision_.stages.clear();
  for (const Knob& stage : stages_) decision_.stages.push_back(stage.value);
  decision_.depth = depth_.value;
}

}  // namespace spdld::pipeline
