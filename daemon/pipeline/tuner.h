// Chooses how many threads decode, how many reads are under way and how many batches are kept ready, from measurements:
// as few as keep the trainers from waiting. Pure: no clock, no thread, no lock. The node calls step() a few times a
// second on the control thread with the measurements since the last call, and applies the decision.
//
// Why fewer is better where the trainer is the slower side: every thread and slot beyond the need costs cache, memory
// bandwidth and wake-ups that the trainer could use (SPDL's own study: training slows as loaders take over half of the
// cores).
//
// Numbers go up at once where a trainer waits. If it waits for the share w of the time, 1 / (1 - w) times the work is
// wanted, of decoding and of reading. Where neither is short, the batches come in bursts, and depth must bridge the
// gaps. Numbers come down after some calm steps: threads to the number that was used (Little's law: busy time over
// time), ready batches to the most that were ever used. A number that turns out too low is raised again, and then left
// alone for twice as long.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace spdld::pipeline {

struct TunerLimits {
  uint32_t decode_max = 1;  // the CPU budget
  uint32_t fetch_max = 1;
  uint32_t depth_max = 1;  // the most that a ring's slots allow
  // Pinned by the operator or the pipeline, brought inside the maximum; 0: free.
  uint32_t decode_pinned = 0, fetch_pinned = 0, depth_pinned = 0;
  friend bool operator==(const TunerLimits&, const TunerLimits&) = default;
};

// The measurements of one interval.
struct TunerInput {
  double seconds = 0;
  uint64_t batches = 0;         // handed to rings, all together
  double starved_s = 0;         // the longest time that a trainer waited in next() with credit left
  uint32_t ready_low = 0;       // the fewest batches ready in a ring when its next came (Ring::take_ready_low())
  double decode_busy_s = 0;     // CPU of the pool's tasks
  double fetch_busy_s = 0;      // time in reads, all together
  uint32_t decode_waiting = 0;  // tasks in the pool's queues now
};

struct TunerDecision {
  uint32_t decode = 1, fetch = 1, depth = 1;
  std::string reason;  // of the last change or changes, for people: "trainers waited 12 % of the time and decoding was
                       // busy: 3 -> 5 decode threads"; empty before the first
  uint64_t changes = 0;
};

class Tuner {
 public:
  // Starts with as much decoding and depth as there may be, and four reads, so that first batches come soon.
  explicit Tuner(const TunerLimits& limits);
  // Limits may change (cpu.max, a new ring): decisions are brought inside them at once, and a number that is still at
  // its start value starts anew.
  void set_limits(const TunerLimits& limits);
  const TunerLimits& limits() const { return limits_; }
  const TunerDecision& step(const TunerInput& input);
  const TunerDecision& decision() const { return decision_; }

 private:
  static constexpr size_t kWindow = 4;  // steps over which the need is averaged before anything comes down
  enum Which { kDecode, kFetch, kDepth, kKnobs };

  struct Knob {
    uint32_t value = 0;         // 0: not yet set
    uint32_t min = 1, max = 1;  // equal: pinned
    uint32_t start = 0;
    uint32_t calm = 0;                    // steps since it may last have been too low, or was changed
    uint32_t patience = 0;                // calm steps before it comes down
    uint32_t since_lowered = UINT32_MAX;  // steps
  };
  // The use in one interval: average threads in use, and the fewest batches ready.
  struct Use {
    double decode = 0, fetch = 0;
    uint32_t ready_low = 0;
  };

  void bound(Which which, uint32_t max, uint32_t pinned, uint32_t min, uint32_t start);
  void on_starved(const TunerInput& input, const Use& use, double share);
  void on_calm();
  bool raise(Which which, uint32_t to, const std::string& why);
  void come_down(Which which, uint32_t to, const std::string& why);
  void change(Which which, uint32_t to, const std::string& why);
  Use recent_use() const;

  TunerLimits limits_;
  TunerDecision decision_;
  std::array<Knob, kKnobs> knobs_;
  TunerInput pending_;  // sum of intervals in which no batch was finished
  std::array<Use, kWindow> recent_;
  uint64_t seen_ = 0;  // steps that went into recent_
  bool changed_in_step_ = false;
};

}  // namespace spdld::pipeline
