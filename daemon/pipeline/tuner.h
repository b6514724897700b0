// Chooses on how many samples each stage works at once (threads that decode, reads under way) and how many batches are
// kept ready, from measurements: as few as keep the trainers from waiting. The stages are a list, in the order of a
// sample's way. Pure: no clock, no thread, no lock. The node calls step() a few times a second on the control thread
// with the measurements since the last call, and applies the decision.
//
// Why fewer is better where the trainer is the slower side: every thread and slot beyond the need costs cache, memory
// bandwidth and wake-ups that the trainer could use (SPDL's own study: training slows as loaders take over half of the
// cores).
//
// Numbers go up at once where a trainer waits, also where no batch comes meanwhile and a stage is busy. If it waits for
// the share w of the time, 1 / (1 - w) times the work is wanted, of every stage. A stage is not short where samples
// wait behind it for a later stage. Where none is short, the batches come in bursts, and depth must bridge the gaps.
// Numbers come down after some calm steps: threads to the number that was used (Little's law: busy time over time),
// ready batches to the most that were ever used. A number that turns out too low is raised again, and then left alone
// for twice as long.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/stage_account.h"

namespace spdld::pipeline {

// The words of a stage for the tuner's sentences, and the bounds of its number of lanes.
struct TunedStage {
  StageAccount account;
  uint32_t min = 1;
  uint32_t start = 0;  // 0: as many as there may be
};

struct TunerLimits {
  struct Limit {
    uint32_t max = 1;
    uint32_t pinned = 0;  // by the operator or the pipeline, brought inside the maximum; 0: free
    friend bool operator==(const Limit&, const Limit&) = default;
  };
  std::vector<Limit> stages;  // as many as the tuner has
  Limit depth;                // the most that a ring's slots allow
};

// The measurements of one interval.
struct TunerInput {
  double seconds = 0;
  uint64_t batches = 0;  // handed to rings, all together
  // The longest time that a trainer waited in next() with credit left, or that it seems to wait now.
  double starved_s = 0;
  uint32_t ready_low = 0;  // the fewest batches ready in a ring when its next came (Ring::take_ready_low())
  struct StageUse {
    double busy_s = 0;     // of all that work at once, together
    uint32_t waiting = 0;  // samples that wait for this stage now
  };
  std::vector<StageUse> stages;  // as many as the tuner has, or none: nothing was done
};

struct TunerDecision {
  std::vector<uint32_t> stages;
  uint32_t depth = 1;
  std::string reason;  // of the last change or changes, for people: "trainers waited 12 % of the time and decoding was
                       // busy: 3 -> 5 decode threads"; empty before the first
  uint64_t changes = 0;
};

class Tuner {
 public:
  // Starts with the stages' start values and as much depth as there may be, so that first batches come soon.
  Tuner(const std::vector<TunedStage>& stages, const TunerLimits& limits);
  // Limits may change (cpu.max, a new ring): decisions are brought inside them at once, and a number that is still at
  // its start value starts anew.
  void set_limits(const TunerLimits& limits);
  const TunerLimits& limits() const { return limits_; }
  const TunerDecision& step(const TunerInput& input);
  const TunerDecision& decision() const { return decision_; }

 private:
  static constexpr size_t kWindow = 4;  // steps over which the need is averaged before anything comes down
  struct Knob {
    std::string unit, busy, took;   // "decode threads", "decoding was busy", "decoding took"
    uint32_t least = 1, begin = 0;  // as TunedStage's min and start
    uint32_t patience_min = 0;
    uint32_t value = 0;         // 0: not yet set
    uint32_t min = 1, max = 1;  // equal: pinned
    uint32_t start = 0;
    uint32_t calm = 0;                    // steps since it may last have been too low, or was changed
    uint32_t patience = 0;                // calm steps before it comes down
    uint32_t since_lowered = UINT32_MAX;  // steps
  };
  // The use in one interval: average threads in use, and the fewest batches ready.
  struct Use {
    std::vector<double> stages;
    uint32_t ready_low = 0;
  };

  static bool is_busy(const Knob& knob, double use, uint32_t waiting);
  bool waits_in_vain(const TunerInput& input) const;
  void bound(Knob& knob, const TunerLimits::Limit& limit);
  void on_starved(const TunerInput& input, const Use& use, double share);
  void on_calm();
  bool raise(Knob& knob, uint32_t to, const std::string& why);
  void come_down(Knob& knob, uint32_t to, const std::string& why);
  void change(Knob& knob, uint32_t to, const std::string& why);
  void add_to_pending(const TunerInput& input);
  Use recent_use() const;

  TunerLimits limits_;
  TunerDecision decision_;
  std::vector<Knob> stages_;
  Knob depth_;
  TunerInput pending_;  // sum of intervals in which no batch was finished
  std::array<Use, kWindow> recent_;
  uint64_t seen_ = 0;  // steps that went into recent_
  bool changed_in_step_ = false;
};

}  // namespace spdld::pipeline
