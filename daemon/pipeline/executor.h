// An executor works on samples for all pipelines of the node, with a number of lanes that the tuning chooses. A stage
// names its executor (StageAccount::tuned_as). Control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "config/daemon_settings.h"
#include "daemon/pipeline/tuner.h"

namespace spdld::pipeline {

struct Executor {
  TunedStage tuned;  // its name is StageAccount::tuned_as
  // The most lanes, and how many the operator wants. `cores`: that this process may use.
  std::function<TunerLimits::Limit(const config::DaemonSettings&, unsigned cores)> limit;
  std::function<uint64_t()> busy_ns;  // how long its lanes have worked, together; only grows
  std::function<size_t()> waiting;    // samples that wait for a lane now
  std::function<void(uint32_t lanes, const TunerLimits::Limit& limit)> set_lanes;
};

}  // namespace spdld::pipeline
