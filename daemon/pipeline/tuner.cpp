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
constexpr uint32_t kFetchStart = 4;
constexpr uint32_t kFetchMin = 2;  // a read that hangs does not hold up all others, and a blocked thread costs nothing
constexpr uint32_t kPatienceMax = 512;
constexpr uint32_t kRelapse = 24;     // raised within so many steps after it came down: it was needed
constexpr uint32_t kForgiven = 1000;  // steps after which half the patience is tried

struct Words {
  const char* unit;
  const char* busy;
  uint32_t patience_min;
};
constexpr Words kWords[] = {
    {"decode threads", "decoding was busy", 4},
    {"reads at once", "reading was busy", 4},
    {"batches ready", "neither decoding nor reading was", 8},
};

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// The epsilon: 1.8 / 0.9 is two.
uint32_t threads_for(double use) { return static_cast<uint32_t>(std::clamp(std::ceil(use / kUse - 1e-6), 1.0, 1e6)); }

uint32_t quarter_more(uint32_t value) { return value + std::max(value / 4, 1u); }

}  // namespace

Tuner::Tuner(const TunerLimits& limits) {
  for (size_t i = 0; i < kKnobs; i++) knobs_[i].patience = kWords[i].patience_min;
  set_limits(limits);
}

void Tuner::set_limits(const TunerLimits& limits) {
  limits_ = limits;
  changed_in_step_ = false;
  bound(kDecode, limits.decode_max, limits.decode_pinned, 1, limits.decode_max);
  bound(kFetch, limits.fetch_max, limits.fetch_pinned, kFetchMin, kFetchStart);
  bound(kDepth, limits.depth_max, limits.depth_pinned, 1, limits.depth_max);
}

void Tuner::bound(Which which, uint32_t max, uint32_t pinned, uint32_t min, uint32_t start) {
  Knob& knob = knobs_[which];
  const uint32_t before = knob.start;
  max = std::max(max, 1u);
  knob.min = pinned ? std::min(pinned, max) : std::min(min, max);
  knob.max = pinned ? knob.min : max;
  knob.start = std::clamp(start, knob.min, knob.max);
  const uint32_t to = knob.value == before ? knob.start : std::clamp(knob.value, knob.min, knob.max);
  if (!before) {
    knob.value = to;
    change(which, to, "");
  } else {
    change(which, to, pinned ? "pinned" : "the limits changed");
  }
}

const TunerDecision& Tuner::step(const TunerInput& input) {
  changed_in_step_ = false;
  pending_.seconds += input.seconds;
  pending_.batches += input.batches;
  pending_.starved_s += input.starved_s;
  pending_.decode_busy_s += input.decode_busy_s;
  pending_.fetch_busy_s += input.fetch_busy_s;
  const bool tells = pending_.batches > 0 && pending_.seconds > 0;
  if (!tells) {
    // A trainer that does something else asks for nothing, and will want what it wanted before.
    if (pending_.decode_busy_s <= 0 && pending_.fetch_busy_s <= 0 && pending_.starved_s <= 0) pending_ = {};
    return decision_;
  }
  pending_.ready_low = input.ready_low;
  pending_.decode_waiting = input.decode_waiting;
  const TunerInput interval = std::exchange(pending_, {});
  const Use use{interval.decode_busy_s / interval.seconds, interval.fetch_busy_s / interval.seconds,
                interval.ready_low};
  recent_[seen_++ % kWindow] = use;
  for (size_t i = 0; i < kKnobs; i++) {
    Knob& knob = knobs_[i];
    knob.calm++;
    if (knob.since_lowered < kForgiven) knob.since_lowered++;
  }
  const double share = interval.starved_s / interval.seconds;
  if (share > kStarvedShare)
    on_starved(interval, use, std::min(share, kStarvedShareMax));
  else
    on_calm();
  return decision_;
}

void Tuner::on_starved(const TunerInput& input, const Use& use, double share) {
  const Knob& decode = knobs_[kDecode];
  const Knob& fetch = knobs_[kFetch];
  // No more is wanted of one stage than the other can give at its most.
  const double wanted = std::max(
      1.0, std::min({1 / (1 - share), decode.max / std::max(use.decode, 1e-9), fetch.max / std::max(use.fetch, 1e-9)}));
  const bool decode_busy = use.decode >= kBusy * decode.value || input.decode_waiting >= decode.value;
  const bool fetch_busy = use.fetch >= kBusy * fetch.value;
  const bool at_the_end = decode_busy && decode.value == decode.max;
  knobs_[kDecode].calm = knobs_[kDepth].calm = 0;
  if (!at_the_end)
    knobs_[kFetch].calm = 0;
  else if (seen_ >= kWindow)  // all that may decode does: reads may be more than it takes
    come_down(kFetch, threads_for(recent_use().fetch), "decoding was busy and reading took " + one_decimal(use.fetch));

  const std::string waited = "trainers waited " + std::to_string(std::lround(100 * share)) + " % of the time and ";
  const auto more = [&](Which which, double used, bool busy) {
    const uint32_t to = std::max(threads_for(used * wanted), busy ? quarter_more(knobs_[which].value) : 0);
    return raise(which, to, waited + kWords[which].busy);
  };
  // Where tasks wait for the pool, more reads would only make more of them wait.
  const bool more_decode = more(kDecode, use.decode, decode_busy);
  const bool more_fetch = more(kFetch, use.fetch, fetch_busy && !decode_busy);
  if (more_decode || more_fetch || decode_busy || fetch_busy) return;
  raise(kDepth, quarter_more(knobs_[kDepth].value), waited + kWords[kDepth].busy);
}

void Tuner::on_calm() {
  if (seen_ < kWindow) return;
  const Use use = recent_use();
  come_down(kDecode, threads_for(use.decode), "no trainer waited and decoding took " + one_decimal(use.decode));
  come_down(kFetch, threads_for(use.fetch), "no trainer waited and reading took " + one_decimal(use.fetch));
  // One unused batch stays: the trainer may have taken it unseen.
  const uint32_t unused = std::max(use.ready_low, 1u) - 1;
  come_down(kDepth, knobs_[kDepth].value - std::min(unused, knobs_[kDepth].value),
            "at least " + std::to_string(use.ready_low) + " lay ready at all times");
}

Tuner::Use Tuner::recent_use() const {
  Use use;
  use.ready_low = UINT32_MAX;
  for (const Use& one : recent_) {
    use.decode += one.decode / kWindow;
    use.fetch += one.fetch / kWindow;
    use.ready_low = std::min(use.ready_low, one.ready_low);
  }
  return use;
}

bool Tuner::raise(Which which, uint32_t to, const std::string& why) {
  Knob& knob = knobs_[which];
  to = std::clamp(to, knob.min, knob.max);
  if (to <= knob.value) return false;
  if (knob.since_lowered <= kRelapse) knob.patience = std::min(2 * knob.patience, kPatienceMax);
  knob.since_lowered = kForgiven;
  change(which, to, why);
  return true;
}

void Tuner::come_down(Which which, uint32_t to, const std::string& why) {
  Knob& knob = knobs_[which];
  to = std::clamp(std::max(to, knob.value / 2), knob.min, knob.max);  // by half at most
  if (to >= knob.value || knob.calm < knob.patience) return;
  if (knob.calm >= kForgiven) knob.patience = std::max(knob.patience / 2, kWords[which].patience_min);
  knob.since_lowered = 0;
  change(which, to, why);
}

void Tuner::change(Which which, uint32_t to, const std::string& why) {
  Knob& knob = knobs_[which];
  if (to != knob.value) {
    const std::string text =
        why + ": " + std::to_string(knob.value) + " -> " + std::to_string(to) + " " + kWords[which].unit;
    decision_.reason = changed_in_step_ ? decision_.reason + "; " + text : text;
    changed_in_step_ = true;
    decision_.changes++;
    knob.calm = 0;
    knob.value = to;
  }
  decision_.decode = knobs_[kDecode].value;
  decision_.fetch = knobs_[kFetch].value;
  decision_.depth = knobs_[kDepth].value;
}

}  // namespace spdld::pipeline
