// The numbers that a verdict weighs: how busy each part of a pipeline was, and the rates that its parts allow. Pure.
#pragma once

#include <vector>

#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"

namespace spdld::metrics {

struct StageRates {
  const StageFigures* stage = nullptr;
  // The share of the lanes' time, 0 to 1. On the pool: of all pipelines together, with the time that threads waited for
  // a core.
  double use = 0;
  double own_part = 1;   // on the pool: of the threads' time, this pipeline's
  double core_wait = 0;  // the share of the threads' time in which they waited for a core
  double sample_s = 0;   // of a lane, on the pool of a core, for one delivered sample; 0: none was delivered

  double lanes() const { return static_cast<double>(stage->lanes) * own_part; }
  double lanes_max() const { return static_cast<double>(stage->lanes_max) * own_part; }
};

// Rates are samples a second.
struct Rates {
  double seconds = 0;
  double now = 0;                       // samples that were handed to rings
  double waiting = 0;                   // the share of time that the trainer waited which waited longest
  double full = 0;                      // the share of time with no slot free
  double trainer = 0;                   // what the trainers would take if they never waited; 0: not known
  std::vector<StageRates> stages = {};  // in the order of a sample's way; none: the pipeline has no stages yet
  double throttled = 0;                 // the share of time that the CPU quota held the daemon back
  double copy_use = 0;                  // of the busiest GPU's copies

  // The rate with so many lanes of each stage; what is 0 does not limit.
  double with(const std::vector<double>& lanes) const;
  // By the rate now; 1 where nothing would change.
  double speedup(const std::vector<double>& lanes) const;
  std::vector<double> lanes() const;      // of each stage, as many as it has
  std::vector<double> lanes_max() const;  // as many as it may have
  // The busiest stage, and of several the last one. Precondition: there are stages.
  const StageRates& busiest() const;
};

Rates rates_of_parts(const Window& window, const PipelineFigures& pipeline);

}  // namespace spdld::metrics
