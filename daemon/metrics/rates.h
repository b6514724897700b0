// The numbers that a verdict weighs: how busy each part of a pipeline was, and the rates that its parts allow. Pure.
#pragma once

#include "daemon/metrics/figures.h"
#include "daemon/metrics/history.h"

namespace spdld::metrics {

// Rates are samples a second.
struct Rates {
  double seconds = 0;
  double now = 0;                       // samples that were handed to rings
  double waiting = 0;                   // the share of time that the trainer waited which waited longest
  double full = 0;                      // the share of time with no slot free
  double trainer = 0;                   // what the trainers would take if they never waited; 0: not known
  const StageFigures* fetch = nullptr;  // none: the pipeline has no stages yet
  const StageFigures* decode = nullptr;
  double fetch_use = 0;              // 0 to 1: of the lanes
  double decode_use = 0;             // of all pipelines together, with the time that threads waited for a core
  double own_part = 1;               // of the time of the decode threads: this pipeline's
  double core_wait = 0;              // the share of the decode threads' time in which they waited for a core
  double fetch_core_wait = 0;        // the share of the lanes' time in which threads that read waited for a core
  double throttled = 0;              // the share of time that the CPU quota held the daemon back
  double copy_use = 0;               // of the busiest GPU's copies
  double fetch_s = 0, decode_s = 0;  // time of a lane, and of a core, for one delivered sample; 0: none was delivered

  // The rate after a change; what is 0 does not limit.
  double with(double fetch_lanes, double decode_lanes) const;
  // By the rate now; 1 where nothing would change.
  double speedup(double fetch_lanes, double decode_lanes) const;
  double fetch_lanes() const { return fetch == nullptr ? 0 : static_cast<double>(fetch->lanes); }
  double decode_lanes() const { return decode == nullptr ? 0 : static_cast<double>(decode->lanes) * own_part; }
};

Rates rates_of_parts(const Window& window, const PipelineFigures& pipeline);

}  // namespace spdld::metrics
