#include "client/cli/bottleneck.h"

#include "client/cli/format.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

// Below this all waiting is noise: a pipeline that has only just begun.
constexpr double kJudgedFromS = 0.05;

struct Waits {
  double starved_s = 0;  // trainers waited for batches
  double full_s = 0;     // batches waited for trainers
  uint64_t batches = 0;
};

Waits waits_of(const config::Json& describe) {
  Waits waits;
  for (const auto& ring : list_at(describe, "rings")) {
    waits.starved_s += number_at(ring, "starved_s");
    waits.full_s += number_at(ring, "full_s");
    waits.batches += count_at(ring, "batches");
  }
  return waits;
}

struct Stage {
  std::string name;
  double busy_s = 0;  // of all its lanes together
  double lane_s = 0;  // busy time of one lane, were they all equally busy
  double mean_us = 0;
};

// The stage whose lanes are the busiest.
Stage busiest(const config::Json& describe, const Lanes& lanes) {
  Stage most;
  for (const auto& entry : list_at(describe, "stages")) {
    Stage stage{text_at(entry, "name"), number_at(entry, "busy_s"), 0, number_at(entry, "mean_us")};
    const double beside = stage.name == "decode" ? lanes.decode : stage.name == "fetch" ? lanes.fetch : 1;
    stage.lane_s = stage.busy_s / (beside >= 1 ? beside : 1);
    if (most.name.empty() || stage.lane_s > most.lane_s) most = stage;
  }
  return most;
}

}  // namespace

Bottleneck find_bottleneck(const config::Json& describe, const Lanes& lanes) {
  const Waits waits = waits_of(describe);
  if (list_at(describe, "rings").empty()) return {"none", "no trainer is attached"};
  if (waits.batches == 0 || waits.starved_s + waits.full_s < kJudgedFromS) {
    return {"none", "too little has run yet to find one"};
  }
  const std::string times = "trainers waited " + duration_text(waits.starved_s) + " for batches, batches " +
                            duration_text(waits.full_s) + " for trainers";
  if (waits.full_s >= waits.starved_s) return {"trainer", times + ": the loader keeps up"};
  const Stage stage = busiest(describe, lanes);
  if (stage.name.empty()) return {"none", times};
  return {stage.name, times + "; " + stage.name + " takes " + duration_text(stage.mean_us * 1e-6) +
                          " a sample and was busy " + duration_text(stage.busy_s) + " in all"};
}

}  // namespace spdld::cli
